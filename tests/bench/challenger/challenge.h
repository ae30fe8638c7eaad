#ifndef TANGRAM_TESTS_BENCH_CHALLENGER_CHALLENGE_H_
#define TANGRAM_TESTS_BENCH_CHALLENGER_CHALLENGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/anneal/anneal_problem.h"

namespace tangram::bench {

// One workload.
using Challenge = anneal::AnnealProblem;

// Returns the name of the runtime that an answer was planned for, given what
// was asked for. Empty: any kind. kInvalidArgument if the answer to "auto" does
// not tell.
absl::StatusOr<std::string> PlannedRuntime(const PlanConstraints& asked,
                                           const PlanResult& result);

// Sets the rules of the runtime with this name, or none if it is empty. The
// plans that are `fit` decide what it takes, as in planning. `start` is a plan
// for it: a launch has the GPUs of one collective library.
absl::Status SetRuntime(const std::string& name, const PipelinePlan& start,
                        Challenge& challenge);

}  // namespace tangram::bench

#endif  // TANGRAM_TESTS_BENCH_CHALLENGER_CHALLENGE_H_
