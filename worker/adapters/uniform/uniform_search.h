#ifndef TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_SEARCH_H_

#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram {

// Degrees that the search sets besides tp and dp.
inline constexpr ExtraDegrees kUniformDegrees = {.ep = true};

// The uniform search of the paper's MoE experiments ("Galvatron-uniform"): all
// stages have the same number of GPUs, the same degrees, ZeRO stage and
// recomputation. The space is small and searched whole, so that
// ParallelizeOptions::max_search_steps is not read; a step is one choice.
//
// The answer is the Pareto set over slowest stage, latency, latency and
// gradient synchronisation together, number of stages, and trailing stages
// borne. The third keeps a plan that is slower to run but synchronises less
// only where it gains more than it loses.
SlicePlanSet SearchUniform(const ModelSlice& slice, const IslandSpec& island,
                           const ParallelizeOptions& options);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_SEARCH_H_
