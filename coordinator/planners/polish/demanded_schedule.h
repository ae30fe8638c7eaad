#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_DEMANDED_SCHEDULE_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_DEMANDED_SCHEDULE_H_

#include "absl/status/statusor.h"
#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"

namespace tangram {

// Returns the plan that runs for a plan of 1F1B, under which plans are
// composed: FitPlan's. If the request demands another schedule, it has that,
// with the fastest number of chunks unless this is demanded too. Its stages
// then recompute, shard and keep on the host what they must.
//
// Errors: kInvalidArgument that says why there is no such plan, and kCancelled
// once the observer asks to stop. Deterministic.
absl::StatusOr<PipelinePlan> FitAsDemanded(const PlanRequest& request,
                                           const PipelineRules& rules,
                                           const PipelinePlan& plan,
                                           PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_DEMANDED_SCHEDULE_H_
