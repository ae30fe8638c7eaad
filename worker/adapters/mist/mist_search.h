#ifndef TANGRAM_WORKER_ADAPTERS_MIST_MIST_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_MIST_MIST_SEARCH_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::mist {

// For every number of equal stages into which the island can be divided, the
// pipelines that are best for some number of microbatches, whether or not
// stages before the slice hide what its first and last microbatch take on top;
// and some that bear more trailing stages than asked for.
SlicePlanSet SearchMist(const ModelSlice& slice, const IslandSpec& island,
                        const ParallelizeOptions& options);

}  // namespace tangram::mist

#endif  // TANGRAM_WORKER_ADAPTERS_MIST_MIST_SEARCH_H_
