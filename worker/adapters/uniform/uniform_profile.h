#ifndef TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_PROFILE_H_
#define TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_PROFILE_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Lower bounds on every plan of SearchUniform, with
// every layer at its own cheapest degrees: time without transfers,
// synchronisation and recomputation, memory under ZeRO 3 with the best
// recomputation and one microbatch in flight.
PerformanceProfile ProfileUniform(const ModelSlice& slice,
                                  const IslandSpec& island,
                                  const ProfileOptions& options);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_PROFILE_H_
