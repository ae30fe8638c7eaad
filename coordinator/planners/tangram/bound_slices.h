#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_BOUND_SLICES_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_BOUND_SLICES_H_

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/tangram/pair_store.h"
#include "coordinator/planners/tangram/search_space.h"

namespace tangram {

// A lower bound on the simulated iteration time of every composition of the
// slice plans in `store`, for every microbatch size; at most `limit_s`. Stages
// are costed as the evaluator does, on the GPUs that they would have, so the
// bound holds whatever a parallelizer claims. kCancelled once `observer` says
// so.
absl::StatusOr<double> SimulatedLowerBound(const SearchSpace& space,
                                           const PairStore& store,
                                           const PlanRequest& request,
                                           double limit_s,
                                           PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_BOUND_SLICES_H_
