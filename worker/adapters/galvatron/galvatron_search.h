#ifndef TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_SEARCH_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::galvatron {

// Answers one query, which must be well-formed. Returns the best plans of every
// number of stages for a series of numbers of trailing stages, without
// dominated plans. See Depth for the criteria.
SlicePlanSet SearchGalvatron(const ModelSlice& slice, const IslandSpec& island,
                             const ParallelizeOptions& options);

}  // namespace tangram::galvatron

#endif  // TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_SEARCH_H_
