#ifndef TANGRAM_COMMON_PARALLELIZER_KEEP_WITHIN_H_
#define TANGRAM_COMMON_PARALLELIZER_KEEP_WITHIN_H_

#include <string>

#include "common/domain/model_slice.h"
#include "common/domain/runtime.h"
#include "common/domain/stage_limits.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Returns answer.covers_trailing_stages, raised to the range that the planner
// treats as covered. A plan is reused for as many trailing stages as its memory
// allows, so the pair is queried again only when the first of the answer's
// plans stops fitting. An answer without plans covers everything, because
// nothing fits with more stages either. Call it before dropping plans from the
// answer: a dropped plan still limits the range in which the parallelizer's
// answer stays the same.
int SettledCoverage(int asked_trailing_stages, const SlicePlanSet& answer);
// Raises answer.covers_trailing_stages to SettledCoverage.
void SettleCoverage(int asked_trailing_stages, SlicePlanSet& answer);

// Drops plans outside the limits, which come from parallelizers that do not
// know limits. Returns their number. If none is left, `infeasible` says why one
// of them was outside.
int KeepWithin(const StageLimits& limits, const ModelSlice& slice,
               SlicePlanSet& answer);

// The reason for an answer without plans if none takes at most
// ParallelizeOptions::limit_s.
inline constexpr char kNotFastEnough[] = "no plan is fast enough to be of use";

// Calls SettleCoverage, then drops plans that take longer than options.limit_s.
// The plans need not have been checked.
void KeepUseful(const ParallelizeOptions& options, SlicePlanSet& answer);

// Calls SettleCoverage, then KeepWithin, for an answer of a parallelizer that
// does not know all limits, and returns the number of dropped plans. Does
// nothing if there are no limits.
int SettleWithin(const StageLimits& limits, const ModelSlice& slice,
                 int asked_trailing_stages, SlicePlanSet& answer);

// Returns why `plan` is not within `limits`: "3 stages, expected at most 2".
// Empty if it is.
std::string WhyOutside(const StageLimits& limits, const ModelSlice& slice,
                       const SlicePlan& plan);

// Drops plans of `slice` that `runtime` cannot run. If none is left,
// `infeasible` names the technique that the runtime lacks.
void KeepRunnable(const Runtime& runtime, const ModelSlice& slice,
                  SlicePlanSet& answer);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_KEEP_WITHIN_H_
