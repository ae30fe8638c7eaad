#include "common/parallelizer/keep_within.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

// Why `plan` is not within `limits`; empty if it is.
std::string WhyOutside(const StageLimits& limits, const SlicePlan& plan) {
  if (limits.max_stages > 0 && plan.num_stages() > limits.max_stages) {
    return absl::StrCat(plan.num_stages(), " stages, expected at most ",
                        limits.max_stages);
  }
  for (const SliceStage& stage : plan.stages) {
    std::string why = WhyOutside(limits, stage.plan);
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace

int KeepWithin(const StageLimits& limits, SlicePlanSet& answer) {
  if (limits.none()) return 0;
  std::string why;
  const size_t dropped =
      std::erase_if(answer.plans, [&](const SlicePlan& plan) {
        const std::string why_outside = WhyOutside(limits, plan);
        if (!why_outside.empty()) why = why_outside;
        return !why_outside.empty();
      });
  if (answer.plans.empty() && dropped > 0) {
    answer.infeasible = Infeasible{.reason = why};
  }
  return static_cast<int>(dropped);
}

}  // namespace tangram
