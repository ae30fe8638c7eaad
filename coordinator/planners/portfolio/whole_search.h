#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_WHOLE_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_WHOLE_SEARCH_H_

#include "absl/status/status.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// Returns whether the request is so small that whole plans are searched.
bool IsSearchedWhole(const PlannerChoice& choice, const PlanRequest& request);

// Searches whole plans of a small problem (WholePlans) that take less than
// `limit_s` before they are polished, polishes them beside the plan of
// `result`, if it has one, and keeps the fastest there. A plan on more islands
// must gain PlannerOptions::min_island_gain. The islands of `result` must be
// those of the request. Errors: those of WholePlans.
absl::Status SearchWhole(const PlannerChoice& choice,
                         const PlanRequest& request, const PipelineRules& rules,
                         double limit_s, PlanObserver& observer,
                         PlanResult& result);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_WHOLE_SEARCH_H_
