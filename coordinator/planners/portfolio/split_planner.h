#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_SPLIT_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_SPLIT_PLANNER_H_

#include "absl/status/statusor.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// Plans with the chosen planner on its own islands, and again for each way to
// divide them along groups of nodes (IslandSplits). The fastest plan is the
// answer; ties go to the islands that are not divided. So a group of nodes that
// joins an island never makes the answer slower. The statistics are those of
// all searches, and the lower bound is the least.
//
// Nothing is divided for planners that take unlike GPUs for equal, for a
// runtime, or if a constraint names an island. Errors: those of the planner.
absl::StatusOr<PlanResult> PlanWithSplits(const PlannerChoice& choice,
                                          SlicePlanSource& source,
                                          const PipelineRules& rules,
                                          const PlanRequest& request,
                                          PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_SPLIT_PLANNER_H_
