#ifndef TANGRAM_WORKER_ADAPTERS_MIST_MIST_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_MIST_MIST_SEARCH_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::mist {

// Answers one query. For every number of equal stages into which the island can
// be divided, returns the pipelines that are best for some number of
// microbatches. Both cases are covered: stages before the slice hide the
// additional time of its first and last microbatch, or they do not. Adds some
// pipelines that bear more trailing stages than asked for.
SlicePlanSet SearchMist(const ModelSlice& slice, const IslandSpec& island,
                        const ParallelizeOptions& options);

}  // namespace tangram::mist

#endif  // TANGRAM_WORKER_ADAPTERS_MIST_MIST_SEARCH_H_
