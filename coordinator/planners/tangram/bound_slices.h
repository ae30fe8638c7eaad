#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_BOUND_SLICES_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_BOUND_SLICES_H_

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/tangram/pair_store.h"
#include "coordinator/planners/tangram/search_space.h"
#include "coordinator/planners/tangram/slice_times.h"

namespace tangram {

// Returns a lower bound on the simulated iteration time in seconds of every
// composition of the slice plans in `store`, for every microbatch size. The
// bound is at most `limit_s`. `times` must be of the same space and store.
// Errors: kCancelled once `observer` says stop.
absl::StatusOr<double> SimulatedLowerBound(const SearchSpace& space,
                                           const PairStore& store,
                                           SliceTimes& times, double limit_s,
                                           PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_BOUND_SLICES_H_
