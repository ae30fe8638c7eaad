#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_DEMANDED_SCHEDULE_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_DEMANDED_SCHEDULE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/planners/polish/polish_plan.h"

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

// Returns other ways to run the composed `plan` in the runtime of the rules,
// which made `fitted` of it. They may be invalid, or not fit.
//
//  - Without the sharding that the runtime made another. One that lacks ZeRO 1
//    has ZeRO 2 instead, which reduces gradients after each microbatch.
//  - Under GPipe, if the runtime runs it and the request demands no schedule.
//    GPipe overlaps transfers that 1F1B waits for, so it runs pipelines over
//    slow links that are of no use otherwise.
std::vector<PipelinePlan> OtherFits(const PlanRequest& request,
                                    const PipelineRules& rules,
                                    const PipelinePlan& plan,
                                    const PolishedPlan& fitted);

// Returns the plan of FitAsDemanded, or that of OtherFits that is the fastest
// if it is much faster.
absl::StatusOr<PipelinePlan> FitFaster(const PlanRequest& request,
                                       const PipelineRules& rules,
                                       const PipelinePlan& plan,
                                       PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_DEMANDED_SCHEDULE_H_
