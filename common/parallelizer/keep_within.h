#ifndef TANGRAM_COMMON_PARALLELIZER_KEEP_WITHIN_H_
#define TANGRAM_COMMON_PARALLELIZER_KEEP_WITHIN_H_

#include "common/domain/stage_limits.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Drops plans of parallelizers that do not know limits, and returns how many.
// Where none is left, the reason is why one of them was outside.
int KeepWithin(const StageLimits& limits, SlicePlanSet& answer);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_KEEP_WITHIN_H_
