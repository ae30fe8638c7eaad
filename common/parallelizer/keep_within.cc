#include "common/parallelizer/keep_within.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/infinity.h"
#include "common/domain/closed_form.h"

namespace tangram {
namespace {

absl::string_view WhyNotRunnable(const Runtime& runtime, const SlicePlan& plan,
                                 const ModelSlice& slice) {
  for (const SliceStage& stage : plan.stages) {
    const absl::string_view why =
        WhyNotRunnable(runtime, stage.plan, slice.runs);
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace

std::string WhyOutside(const StageLimits& limits, const ModelSlice& slice,
                       const SlicePlan& plan) {
  if (limits.max_stages > 0 && plan.num_stages() > limits.max_stages) {
    return absl::StrCat(plan.num_stages(), " stages, expected at most ",
                        limits.max_stages);
  }
  for (const SliceStage& stage : plan.stages) {
    std::string why = WhyOutside(limits, stage.plan, slice.runs);
    if (!why.empty()) return why;
  }
  return "";
}

int SettledCoverage(int asked_trailing_stages, const SlicePlanSet& answer) {
  int borne = kUnlimitedTrailingStages;
  for (const SlicePlan& plan : answer.plans) {
    borne = std::min(borne, plan.max_trailing_stages);
  }
  return std::max(
      {answer.covers_trailing_stages, asked_trailing_stages, borne});
}

void SettleCoverage(int asked_trailing_stages, SlicePlanSet& answer) {
  answer.covers_trailing_stages =
      SettledCoverage(asked_trailing_stages, answer);
}

int KeepWithin(const StageLimits& limits, const ModelSlice& slice,
               SlicePlanSet& answer) {
  if (limits.none()) return 0;
  std::string why;
  const size_t dropped =
      std::erase_if(answer.plans, [&](const SlicePlan& plan) {
        const std::string why_outside = WhyOutside(limits, slice, plan);
        if (!why_outside.empty()) why = why_outside;
        return !why_outside.empty();
      });
  if (answer.plans.empty() && dropped > 0) {
    answer.infeasible = Infeasible{.reason = why};
  }
  return static_cast<int>(dropped);
}

void KeepUseful(const ParallelizeOptions& options, SlicePlanSet& answer) {
  if (options.limit_s == kInfinity || answer.plans.empty()) return;
  const int num_microbatches =
      options.training.global_batch_size / options.pipeline_microbatch_size;
  SettleCoverage(options.trailing_stages, answer);
  std::erase_if(answer.plans, [&](const SlicePlan& plan) {
    return ClosedFormSeconds(plan.latency_s(), plan.slowest_stage_s(),
                             num_microbatches) > options.limit_s;
  });
  if (answer.plans.empty())
    answer.infeasible = Infeasible{.reason = kNotFastEnough};
}

int SettleWithin(const StageLimits& limits, const ModelSlice& slice,
                 int asked_trailing_stages, SlicePlanSet& answer) {
  if (limits.none()) return 0;
  SettleCoverage(asked_trailing_stages, answer);
  return KeepWithin(limits, slice, answer);
}

void KeepRunnable(const Runtime& runtime, const ModelSlice& slice,
                  SlicePlanSet& answer) {
  absl::string_view why;
  std::vector<SlicePlan> kept;
  for (SlicePlan& plan : answer.plans) {
    const absl::string_view why_not = WhyNotRunnable(runtime, plan, slice);
    if (why_not.empty()) {
      kept.push_back(std::move(plan));
    } else {
      why = why_not;
    }
  }
  if (kept.empty() && !answer.plans.empty()) {
    answer.infeasible =
        Infeasible{.reason = absl::StrCat(runtime.name, " cannot run ", why)};
  }
  answer.plans = std::move(kept);
}

}  // namespace tangram
