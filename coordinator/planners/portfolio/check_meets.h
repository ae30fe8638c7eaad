#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_CHECK_MEETS_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_CHECK_MEETS_H_

#include "absl/status/status.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// Returns OK if the planner has the features that the request demands. Runtime
// auto is no demand: without one, plans are of any kind. Errors:
// kInvalidArgument naming the field and the planner.
absl::Status CheckMeets(const PlannerInfo& planner, const PlanRequest& request);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_CHECK_MEETS_H_
