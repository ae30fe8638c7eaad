#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NAME_CONSTRAINTS_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NAME_CONSTRAINTS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// Adds to the reason of `result`, which has no plan, the constraint that is to
// blame. It calls `plan` without each constraint in turn and, if none of these
// finds a plan, without all of them. Does nothing if the request has no
// constraints. Errors: those of `plan`.
absl::Status NameConstraints(
    const PlanRequest& request,
    absl::FunctionRef<absl::StatusOr<PlanResult>(const PlanRequest&)> plan,
    PlanResult& result);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NAME_CONSTRAINTS_H_
