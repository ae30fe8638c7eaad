#ifndef TANGRAM_TESTS_TESTING_PLANNING_PLANNING_H_
#define TANGRAM_TESTS_TESTING_PLANNING_PLANNING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/registry/planner_options.h"
#include "coordinator/planners/tangram/tangram_options.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"

namespace tangram::testing {

// Plans in this process with built-in parallelizers, e.g. "aceso,mist". An
// empty planner means the default one.
absl::StatusOr<PlanResult> PlanLocally(const PlanRequest& request,
                                       const std::string& parallelizers,
                                       const TangramOptions& options = {},
                                       int num_threads = 1,
                                       const std::string& planner = "",
                                       const PlannerOptionText& text = {});

// Returns a request for TestModel(6, 2048) with batch 16.
PlanRequest TestRequest(const std::vector<TestGroup>& groups);

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_PLANNING_PLANNING_H_
