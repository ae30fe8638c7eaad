#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATE_PLANS_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATE_PLANS_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Sets times and trailing stages of plans that came without them. Keeps the
// plans that fit and that no other equals or beats in every respect. The plans
// must pass CheckSlicePlanSet. Pure.
void EstimatePlans(const ModelSlice& slice, const IslandSpec& island,
                   const ParallelizeOptions& options, SlicePlanSet& answer);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATE_PLANS_H_
