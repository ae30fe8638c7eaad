#ifndef TANGRAM_COORDINATOR_PLANNERS_ANNEAL_ANNEAL_AMONG_H_
#define TANGRAM_COORDINATOR_PLANNERS_ANNEAL_ANNEAL_AMONG_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/anneal/anneal.h"
#include "coordinator/planners/anneal/anneal_problem.h"

namespace tangram::anneal {

// Anneals several plans a little, and the best of these plans more and more, so
// that the result seldom depends on one start. Returns the fastest; the first
// of equal ones. `starts` must not be empty, and the judge must accept them.
// The number of steps falls with the stages and microbatches of the plans, so
// that a call takes a few tenths of a second. Deterministic. The only error is
// kCancelled, once the observer asks to stop.
absl::StatusOr<JudgedPlan> AnnealAmong(const AnnealProblem& problem,
                                       std::vector<JudgedPlan> starts,
                                       PlanObserver& observer);

}  // namespace tangram::anneal

#endif  // TANGRAM_COORDINATOR_PLANNERS_ANNEAL_ANNEAL_AMONG_H_
