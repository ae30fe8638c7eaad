#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SEARCH_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::alpa {

// Answers one query, which must be well-formed. For each number of stages,
// returns the pipelines of SolveInterOperator, and those for a few larger
// numbers of trailing stages, without dominated plans. The search is
// exhaustive, so it does not read ParallelizeOptions::max_search_steps; a step
// is one partial pipeline.
SlicePlanSet SearchPipelines(const ModelSlice& slice, const IslandSpec& island,
                             const ParallelizeOptions& options);

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SEARCH_H_
