#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PLAN_FOR_RUNTIME_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PLAN_FOR_RUNTIME_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/runtime_catalogue.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// Returns all that keeps `runtime` from every plan for the request: its model,
// its training options and the GPUs of its cluster. OK: there may be a plan.
absl::Status CheckRuntime(const PlanningRuntime& runtime,
                          const PlanRequest& request);

// Returns the best plan that `runtime` can run, from the slice plans of all
// members. There is one search for each value of the properties
// that all stages of the runtime share. Every whole plan is scored in the form
// that the runtime exports. So the plan is exported without loss, with the
// training options in PlanResult::training. Plans that take longer than
// `incumbent_s` seconds are not looked for.
absl::StatusOr<PlanResult> PlanForRuntime(
    absl::Span<const PortfolioMember> members, const PlannerChoice& choice,
    const PlanningRuntime& runtime, const PlanRequest& request,
    PlanObserver& observer, double incumbent_s = kInfinity);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PLAN_FOR_RUNTIME_H_
