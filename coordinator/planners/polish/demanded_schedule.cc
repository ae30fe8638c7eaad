#include "coordinator/planners/polish/demanded_schedule.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/infinity.h"
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
    absl::c_move(AllInterleaved(request.model, FinestCuts(rules), chunks, plan),
                 std::back_inserter(plans));
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

// The fraction that another way to run a composed plan must gain. GPipe holds
// all microbatches and leaves less room for polishing.
constexpr double kLeastFitGain = 0.02;

absl::StatusOr<Evaluation> Evaluate(const PlanRequest& request,
                                    const PipelinePlan& plan,
                                    PlanObserver& observer) {
  return EvaluatePlan(request.model, request.cluster, request.training, plan,
                      /*timeline=*/nullptr, /*state=*/{},
                      [&observer] { return observer.ShouldStop(); });
}

// Returns the fastest of `plans` that fits. `like` is one of 1F1B, of which
// about as much must be measured.
absl::StatusOr<std::optional<PolishedPlan>> FastestOf(
    const PlanRequest& request, const PipelineRules& rules,
    const PolishedPlan& like, const std::vector<PipelinePlan>& plans,
    PlanObserver& observer) {
  PlanClimber climber(request, rules, like, observer);
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

// Returns whether the runtime shards other state than the plan.
bool HasOtherSharding(const PipelinePlan& plan, const PipelinePlan& fitted) {
  return !std::equal(
      plan.stages.begin(), plan.stages.end(), fitted.stages.begin(),
      fitted.stages.end(), [](const PlacedStage& a, const PlacedStage& b) {
        return a.plan.parallelism.zero_stage == b.plan.parallelism.zero_stage;
      });
}

// Returns the plan without what shards gradients or optimizer state. Weights
// that are sharded stay so.
PipelinePlan WithoutSharding(PipelinePlan plan) {
  for (PlacedStage& stage : plan.stages) {
    StageParallelism& p = stage.plan.parallelism;
    if (p.zero_stage < 3) p.zero_stage = p.zero_degree = 0;
  }
  return plan;
}

// Returns the request without a schedule.
PlanRequest OfAnySchedule(PlanRequest request) {
  request.constraints.schedule.reset();
  request.constraints.virtual_stages = 0;
  return request;
}

}  // namespace

std::vector<PipelinePlan> OtherFits(const PlanRequest& request,
                                    const PipelineRules& rules,
                                    const PipelinePlan& plan,
                                    const PolishedPlan& fitted) {
  std::vector<PipelinePlan> others;
  if (rules.runtime == nullptr) return others;
  if (!request.constraints.zero_stage.has_value() &&
      HasOtherSharding(plan, fitted.plan)) {
    others.push_back(WithoutSharding(plan));
  }
  if (!rules.runtime->gpipe) return others;
  for (PipelinePlan& other : OtherSchedules(request, rules, fitted.plan,
                                            fitted.evaluation, kLeastFitGain)) {
    if (other.schedule != PipelineSchedule::kGpipe) continue;
    if (!others.empty()) {
      others.push_back(others.front());
      others.back().schedule = other.schedule;
    }
    others.push_back(std::move(other));
  }
  return others;
}

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
  TANGRAM_ASSIGN_OR_RETURN(Evaluation evaluation,
                           Evaluate(request, fitted, observer));
  TANGRAM_ASSIGN_OR_RETURN(
      std::optional<PolishedPlan> best,
      FastestOf(request, rules, {fitted, std::move(evaluation)}, plans,
                observer));
  if (best.has_value()) return std::move(best->plan);
  return refuse(rules.runtime == nullptr
                    ? "the plan does not fit"
                    : absl::StrCat("the plan does not fit, or ",
                                   rules.runtime->name, " does not run it"));
}

absl::StatusOr<PipelinePlan> FitFaster(const PlanRequest& request,
                                       const PipelineRules& rules,
                                       const PipelinePlan& plan,
                                       PlanObserver& observer) {
  absl::StatusOr<PipelinePlan> fitted =
      FitAsDemanded(request, rules, plan, observer);
  if (!fitted.ok() || rules.runtime == nullptr ||
      DemandedSchedule(request.constraints).has_value()) {
    return fitted;
  }
  if (!rules.runtime->gpipe && !HasOtherSharding(plan, *fitted)) return fitted;
  absl::StatusOr<Evaluation> evaluation = Evaluate(request, *fitted, observer);
  // The judge says why it does not run.
  if (!evaluation.ok()) return fitted;
  const double limit_s =
      evaluation->violations.empty() ? evaluation->iteration_time_s : kInfinity;
  const std::vector<PipelinePlan> others =
      OtherFits(request, rules, plan, {*fitted, *evaluation});
  if (others.empty()) return fitted;
  TANGRAM_ASSIGN_OR_RETURN(
      std::optional<PolishedPlan> best,
      FastestOf(request, rules, {*fitted, *std::move(evaluation)}, others,
                observer));
  const bool is_faster =
      best.has_value() &&
      best->evaluation.iteration_time_s * (1 + kLeastFitGain) < limit_s;
  if (!is_faster) return fitted;
  return std::move(best->plan);
}

}  // namespace tangram
