#ifndef TANGRAM_TESTS_BENCH_CHALLENGER_CHALLENGE_H_
#define TANGRAM_TESTS_BENCH_CHALLENGER_CHALLENGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/island.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"

namespace tangram::bench {

// One workload, and the rules that its plans obey.
struct Challenge {
  PlanRequest request;
  PipelineRules rules;
  std::string runtime;  // Its name; empty: plans of any kind.
  std::vector<Island> islands;
  bool changes_schedule = false;  // Also the warm-up passes.
  bool keeps_offload = false;
  bool keeps_islands = false;  // Those in use stay in use, and no others.
};

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
