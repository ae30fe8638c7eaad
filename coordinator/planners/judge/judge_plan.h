#ifndef TANGRAM_COORDINATOR_PLANNERS_JUDGE_JUDGE_PLAN_H_
#define TANGRAM_COORDINATOR_PLANNERS_JUDGE_JUDGE_PLAN_H_

#include <optional>

#include "absl/status/statusor.h"
#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/stage_estimator.h"

namespace tangram {

// Returns the evaluation of a plan that was changed, or made for other training
// options than those of `request`. Empty: it does not fit. kCancelled once the
// observer asks to stop.
absl::StatusOr<std::optional<Evaluation>> JudgePlan(const PlanRequest& request,
                                                    const PipelinePlan& plan,
                                                    PlanObserver& observer);

// Likewise with the costs of stages that `estimator` knows. It has the model,
// the cluster and the training options of the request.
absl::StatusOr<std::optional<Evaluation>> JudgePlan(StageEstimator& estimator,
                                                    const PipelinePlan& plan,
                                                    PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_JUDGE_JUDGE_PLAN_H_
