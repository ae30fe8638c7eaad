#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PLAN_FOR_RUNTIME_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PLAN_FOR_RUNTIME_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/runtime_catalogue.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// The best plan that the runtime of the request can run, of all members' slice
// plans: one search for each value of what the runtime's stages must share,
// every whole plan scored as the runtime's export has it. So a plan that is
// found is exported without loss, with the training options of
// PlanResult::training. kInvalidArgument for a runtime that is not known.
absl::StatusOr<PlanResult> PlanForRuntime(
    absl::Span<const PortfolioMember> members, const PlannerChoice& choice,
    const RuntimeCatalogue& runtimes, const PlanRequest& request,
    PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PLAN_FOR_RUNTIME_H_
