#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_LOWER_BOUNDS_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_LOWER_BOUNDS_H_

#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram {

// Returns lower bounds on every plan of any search over whole layers with the
// degrees of ParallelismsOf. Each layer takes its own minimum. Time excludes
// transfers, synchronisation and recomputation. Memory assumes ZeRO 3, the best
// recomputation and one microbatch in flight. Nothing is offloaded.
PerformanceProfile LayerwiseLowerBounds(const ModelSlice& slice,
                                        const IslandSpec& island,
                                        const ProfileOptions& options,
                                        ExtraDegrees extra);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_LOWER_BOUNDS_H_
