#ifndef TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_SEARCH_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::galvatron {

// The answer to one query, which is known to be well-formed: the best plans of
// every number of stages, for numbers of trailing stages ever further apart, as
// far as none is dominated. See Depth for what is best.
SlicePlanSet SearchGalvatron(const ModelSlice& slice, const IslandSpec& island,
                             const ParallelizeOptions& options);

}  // namespace tangram::galvatron

#endif  // TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_SEARCH_H_
