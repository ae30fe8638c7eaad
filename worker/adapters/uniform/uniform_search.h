#ifndef TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_SEARCH_H_

#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram {

// Degrees that the search sets besides tp and dp.
inline constexpr ExtraDegrees kUniformDegrees = {.ep = true};

// Searches one setting for all stages, as in the paper's MoE experiments
// ("Galvatron-uniform"): the same number of GPUs, degrees, ZeRO stage and
// recomputation. The space is small and searched exhaustively, so
// ParallelizeOptions::max_search_steps is not read; a step is one choice.
//
// Returns the Pareto set over slowest stage, latency, latency plus gradient
// synchronisation, number of stages, and trailing stages borne. The third
// criterion keeps a slower plan with less synchronisation only if it gains more
// than it loses. A plan with fully sharded experts replaces only its like.
SlicePlanSet SearchUniform(const ModelSlice& slice, const IslandSpec& island,
                           const ParallelizeOptions& options);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_SEARCH_H_
