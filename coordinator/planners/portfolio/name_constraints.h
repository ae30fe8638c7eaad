#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NAME_CONSTRAINTS_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NAME_CONSTRAINTS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// `result` has no plan: adds to its reason which of the request's constraints
// is to blame, by planning with `plan` without each of them, and if that does
// not help, without all. Does nothing without constraints. Errors are `plan`'s.
absl::Status NameConstraints(
    const PlanRequest& request,
    absl::FunctionRef<absl::StatusOr<PlanResult>(const PlanRequest&)> plan,
    PlanResult& result);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NAME_CONSTRAINTS_H_
