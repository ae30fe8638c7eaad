#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATE_PLANS_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATE_PLANS_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Completes plans that came without times and trailing stages. Keeps those that
// fit, are within the island's limits, and that no other such plan equals or
// beats in every respect. On an island with limits, settles how many trailing
// stages the answer covers. The plans must pass CheckSlicePlanSet on
// an island without limits. Pure.
void EstimatePlans(const ModelSlice& slice, const IslandSpec& island,
                   const ParallelizeOptions& options, SlicePlanSet& answer);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATE_PLANS_H_
