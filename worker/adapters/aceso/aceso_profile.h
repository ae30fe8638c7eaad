#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PROFILE_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PROFILE_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::aceso {

// Returns lower bounds on every plan of the slice. Each operator takes the best
// of all degrees by itself, so no choice of cuts is below the sum.
PerformanceProfile LowerBounds(const ModelSlice& slice,
                               const IslandSpec& island,
                               const ProfileOptions& options);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PROFILE_H_
