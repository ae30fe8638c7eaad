#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PROFILE_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PROFILE_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::aceso {

// Lower bounds for every plan of the slice. Each operator by itself takes the
// best of all degrees, so that no cut of any stage can be below the sum.
PerformanceProfile LowerBounds(const ModelSlice& slice,
                               const IslandSpec& island,
                               const ProfileOptions& options);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PROFILE_H_
