#include "worker/adapters/search/why_no_plan.h"

#include "common/parallelizer/keep_within.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram {

Infeasible WhyNoPlan(std::optional<double> bytes_short, double limit_s) {
  if (limit_s < kInfinity && bytes_short.value_or(0) <= 0) {
    return {.reason = kNotFastEnough};
  }
  if (!bytes_short.has_value()) return {.reason = kNoStageWithinLimits};
  return {.reason = "does not fit in memory", .bytes_short = *bytes_short};
}

void ExplainNoPlan(absl::FunctionRef<std::optional<double>()> bytes_short,
                   double limit_s, SlicePlanSet& answer) {
  if (!answer.plans.empty()) return;
  answer.infeasible = answer.truncated
                          ? Infeasible{.reason = "stopped before any plan"}
                          : WhyNoPlan(bytes_short(), limit_s);
}

}  // namespace tangram
