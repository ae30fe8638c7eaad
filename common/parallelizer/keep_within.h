#ifndef TANGRAM_COMMON_PARALLELIZER_KEEP_WITHIN_H_
#define TANGRAM_COMMON_PARALLELIZER_KEEP_WITHIN_H_

#include "common/domain/model_slice.h"
#include "common/domain/runtime.h"
#include "common/domain/stage_limits.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Raises answer.covers_trailing_stages to what the planner takes for covered: a
// plan is reused for as many trailing stages as it bears, so the pair is asked
// again only when the first of the answer's plans stops fitting. An answer
// without plans covers everything, since nothing fits with more stages either.
// Call it before plans are dropped from the answer: a dropped plan still tells
// where the parallelizer would answer otherwise.
void SettleCoverage(int asked_trailing_stages, SlicePlanSet& answer);

// Drops plans of parallelizers that do not know limits, and returns how many.
// Where none is left, the reason is why one of them was outside.
int KeepWithin(const StageLimits& limits, SlicePlanSet& answer);

// Drops plans of `slice` that `runtime` cannot run. Where none is left, the
// reason names what the runtime lacks.
void KeepRunnable(const Runtime& runtime, const ModelSlice& slice,
                  SlicePlanSet& answer);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_KEEP_WITHIN_H_
