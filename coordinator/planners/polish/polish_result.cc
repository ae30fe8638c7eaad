#include "coordinator/planners/polish/polish_result.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/polish/plan_climber.h"
#include "coordinator/planners/polish/plan_schedules.h"
#include "coordinator/planners/polish/polish_plan.h"

namespace tangram {

absl::Status PolishResult(const PlanRequest& request,
                          const PipelineRules& rules, Reach reach,
                          PlanObserver& observer, PlanResult& result,
                          TaskRunner* tasks) {
  if (!result.plan.has_value()) return absl::OkStatus();
  observer.OnPhase(PlanPhase::kEvaluation);
  const double before_s = result.evaluation.iteration_time_s;
  TANGRAM_ASSIGN_OR_RETURN(
      const PolishedPlan polished,
      PolishPlan(request, rules, reach, {*result.plan, result.evaluation},
                 observer, tasks));
  result.plan = polished.plan;
  result.evaluation = polished.evaluation;
  const double after_s = result.evaluation.iteration_time_s;
  if (after_s == before_s) return absl::OkStatus();
  observer.OnBest(after_s);
  // A polished plan need not be a composition of slice plans.
  result.lower_bound_s = std::min(result.lower_bound_s, after_s);
  result.notes.push_back(absl::StrFormat(
      "polished by %s changes that the evaluation confirms: %.1f %% faster",
      reach == Reach::kNear ? "small" : "large and small",
      100 * (before_s / after_s - 1)));
  if (polished.one_f_one_b_s.has_value()) {
    result.notes.push_back(absl::StrFormat(
        "%s: %.1f %% faster than the best plan found with plain 1f1b",
        polished.plan.warm_up_passes.empty()
            ? absl::StrCat("schedule ", ScheduleName(polished.plan.schedule))
            : "more warm-up passes",
        100 * (*polished.one_f_one_b_s / after_s - 1)));
  }
  return absl::OkStatus();
}

absl::Status PolishChunks(const PlanRequest& request,
                          const PipelineRules& rules, PlanObserver& observer,
                          PlanResult& result, TaskRunner* tasks) {
  if (!result.plan.has_value() || result.plan->virtual_stages == 1) {
    return absl::OkStatus();
  }
  PlanClimber climber(request, rules, {*result.plan, result.evaluation},
                      observer);
  TANGRAM_ASSIGN_OR_RETURN(
      std::optional<PolishedPlan> plain,
      climber.Settle(WithoutChunks(*result.plan), PlanClimber::Effort::kFull));
  if (!plain.has_value()) return absl::OkStatus();
  PlanResult polished = result;
  polished.plan = std::move(plain->plan);
  polished.evaluation = std::move(plain->evaluation);
  TANGRAM_RETURN_IF_ERROR(PolishResult(request, rules, Reach::kNearAndSchedules,
                                       observer, polished, tasks));
  if (polished.evaluation.iteration_time_s <
      result.evaluation.iteration_time_s) {
    result = std::move(polished);
  }
  return absl::OkStatus();
}

}  // namespace tangram
