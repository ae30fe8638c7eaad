#ifndef TANGRAM_TESTS_TESTING_REPLICATED_REQUEST_H_
#define TANGRAM_TESTS_TESTING_REPLICATED_REQUEST_H_

#include "common/sim/evaluate_replicated_plan.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram::testing {

// Two groups of three nodes. "a" is twice as fast as "b".
inline Cluster TwoGroups() {
  DeviceSpec slow = TestDevice("SLOW");
  slow.peak_flops.fp16 /= 2;
  return TestCluster({{.name = "a", .num_nodes = 3, .device = TestDevice()},
                      {.name = "b", .num_nodes = 3, .device = slow}});
}

// A plan of several pipelines, and what it is evaluated on.
struct Replicated {
  ModelSpec model = TestModel(6);
  Cluster cluster = TwoGroups();
  TrainingOptions training = TestTraining(24);
  ReplicatedPlan plan;

  ReplicatedEvaluation Evaluate() const {
    const absl::StatusOr<ReplicatedEvaluation> evaluation =
        EvaluateReplicatedPlan(model, cluster, training, plan);
    EXPECT_THAT(evaluation, IsOk());
    return evaluation.ok() ? *evaluation : ReplicatedEvaluation();
  }
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_REPLICATED_REQUEST_H_
