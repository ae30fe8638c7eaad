#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATE_PLANS_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATE_PLANS_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Fills in times and trailing stages of plans that came without, and keeps
// those that fit and that no other is at least as good as in every respect.
// The plans must be such as CheckSlicePlanSet lets through. Pure.
void EstimatePlans(const ModelSlice& slice, const IslandSpec& island,
                   const ParallelizeOptions& options, SlicePlanSet& answer);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATE_PLANS_H_
