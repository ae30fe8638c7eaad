#include "coordinator/planners/judge/judge_plan.h"

#include <utility>

namespace tangram {

absl::StatusOr<std::optional<Evaluation>> JudgePlan(const PlanRequest& request,
                                                    const PipelinePlan& plan,
                                                    PlanObserver& observer) {
  StageEstimator estimator(request.model, request.cluster, request.training);
  return JudgePlan(estimator, plan, observer);
}

absl::StatusOr<std::optional<Evaluation>> JudgePlan(StageEstimator& estimator,
                                                    const PipelinePlan& plan,
                                                    PlanObserver& observer) {
  absl::StatusOr<Evaluation> played =
      EvaluatePlan(estimator, plan, /*timeline=*/nullptr,
                   [&] { return observer.ShouldStop(); });
  if (absl::IsCancelled(played.status())) return played.status();
  // Errors are rules that the plan breaks in this training.
  if (!played.ok() || !played->violations.empty()) return std::nullopt;
  return *std::move(played);
}

}  // namespace tangram
