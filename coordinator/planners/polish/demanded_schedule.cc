#include "coordinator/planners/polish/demanded_schedule.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/sim/evaluate_plan.h"
#include "coordinator/planners/polish/plan_climber.h"
#include "coordinator/planners/polish/plan_moves.h"
#include "coordinator/planners/polish/plan_schedules.h"

namespace tangram {
namespace {

// Returns the plan with as many chunks as are asked for, or with each of the
// numbers that are tried.
std::vector<PipelinePlan> WithChunks(const PlanRequest& request,
                                     const PipelineRules& rules,
                                     const PipelinePlan& plan) {
  std::vector<int> counts = {request.constraints.virtual_stages};
  if (counts.front() == 0) counts = ChunkCounts(request.model, plan);
  std::vector<PipelinePlan> plans;
  for (const int chunks : counts) {
    std::optional<PipelinePlan> interleaved =
        Interleaved(request.model, FinestCuts(rules), chunks, plan);
    if (interleaved.has_value()) plans.push_back(*std::move(interleaved));
  }
  return plans;
}

std::vector<PipelinePlan> UnderSchedule(const PlanRequest& request,
                                        const PipelineRules& rules,
                                        PipelineSchedule schedule,
                                        PipelinePlan plan) {
  if (schedule == PipelineSchedule::kInterleaved) {
    return WithChunks(request, rules, plan);
  }
  plan.schedule = schedule;
  return {std::move(plan)};
}

// Returns the fastest of `plans` that fits. `plan` is one of 1F1B.
absl::StatusOr<std::optional<PolishedPlan>> FastestOf(
    const PlanRequest& request, const PipelineRules& rules,
    const PipelinePlan& plan, const std::vector<PipelinePlan>& plans,
    PlanObserver& observer) {
  // Evaluated for the share of it that is measured.
  TANGRAM_ASSIGN_OR_RETURN(
      Evaluation evaluation,
      EvaluatePlan(request.model, request.cluster, request.training, plan,
                   /*timeline=*/nullptr, /*state=*/{},
                   [&observer] { return observer.ShouldStop(); }));
  PlanClimber climber(request, rules, {plan, std::move(evaluation)}, observer);
  std::optional<PolishedPlan> best;
  for (const PipelinePlan& candidate : plans) {
    TANGRAM_ASSIGN_OR_RETURN(
        std::optional<PolishedPlan> settled,
        climber.Settle(candidate, PlanClimber::Effort::kHasty));
    if (!settled.has_value()) continue;
    if (!best.has_value() || settled->evaluation.iteration_time_s <
                                 best->evaluation.iteration_time_s) {
      best = std::move(settled);
    }
  }
  return best;
}

// Returns the request without a schedule.
PlanRequest OfAnySchedule(PlanRequest request) {
  request.constraints.schedule.reset();
  request.constraints.virtual_stages = 0;
  return request;
}

}  // namespace

absl::StatusOr<PipelinePlan> FitAsDemanded(const PlanRequest& request,
                                           const PipelineRules& rules,
                                           const PipelinePlan& plan,
                                           PlanObserver& observer) {
  if (!DemandsRescheduling(request.constraints)) {
    return FitPlan(rules, request, plan);
  }
  TANGRAM_ASSIGN_OR_RETURN(const PipelinePlan fitted,
                           FitPlan(rules, OfAnySchedule(request), plan));
  const PipelineSchedule schedule = *DemandedSchedule(request.constraints);
  const int num_microbatches =
      request.training.global_batch_size / fitted.pipeline_microbatch_size;
  const int num_stages = fitted.num_stages();
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule ", ScheduleName(schedule), ": ", why));
  };
  if (schedule == PipelineSchedule::kInterleaved &&
      (num_stages == 1 || num_microbatches % num_stages != 0)) {
    return refuse(absl::StrCat(num_stages, " pipeline stages, ",
                               num_microbatches,
                               " microbatches; expected several stages that "
                               "divide the microbatches"));
  }
  const std::vector<PipelinePlan> plans =
      UnderSchedule(request, rules, schedule, fitted);
  if (plans.empty()) return refuse("a chunk of a stage would have no layer");
  TANGRAM_ASSIGN_OR_RETURN(std::optional<PolishedPlan> best,
                           FastestOf(request, rules, fitted, plans, observer));
  if (best.has_value()) return std::move(best->plan);
  return refuse(rules.runtime == nullptr
                    ? "the plan does not fit"
                    : absl::StrCat("the plan does not fit, or ",
                                   rules.runtime->name, " does not run it"));
}

}  // namespace tangram
