#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_LOWER_BOUNDS_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_LOWER_BOUNDS_H_

#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram {

// Lower bounds on every plan of any search over whole layers with the degrees
// of ParallelismsOf, every layer at its own cheapest: time without transfers,
// synchronisation and recomputation, memory under ZeRO 3 with the best
// recomputation and one microbatch in flight. Nothing offloaded.
PerformanceProfile LayerwiseLowerBounds(const ModelSlice& slice,
                                        const IslandSpec& island,
                                        const ProfileOptions& options,
                                        ExtraDegrees extra);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_LOWER_BOUNDS_H_
