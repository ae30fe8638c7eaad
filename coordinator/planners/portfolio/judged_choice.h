#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_JUDGED_CHOICE_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_JUDGED_CHOICE_H_

#include <memory>

#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/planners/polish/polish_plan.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// Returns how far polishing may go with the options of this choice.
Reach FurthestReach(const PlannerChoice& choice);

// Returns a judged planner on one source of slice plans, which must outlive it.
// Its plans have the schedule that the request demands. They are polished
// unless they are for a runtime, which polishes once its searches are done.
std::unique_ptr<ClusterPlanner> CreateJudgedPlanner(
    const PlannerChoice& choice, SlicePlanSource& source,
    const PipelineRules& rules = {});

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_JUDGED_CHOICE_H_
