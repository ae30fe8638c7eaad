#ifndef TANGRAM_TESTS_TESTING_MIXED_REQUEST_H_
#define TANGRAM_TESTS_TESTING_MIXED_REQUEST_H_

#include <vector>

#include "common/sim/evaluate_plan.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram::testing {

// Two groups of five nodes. "a" is twice as fast as "b". Links take 10 GB/s
// inside a group, and 1 GB/s between groups.
inline Cluster FastAndSlowNodes() {
  DeviceSpec slow = TestDevice("SLOW");
  slow.peak_flops.fp16 /= 2;
  return TestCluster({{.name = "a", .num_nodes = 5, .device = TestDevice()},
                      {.name = "b", .num_nodes = 5, .device = slow}});
}

// A plan with a mixed stage, and what it is evaluated on.
struct Mixed {
  ModelSpec model = TestModel(6);
  Cluster cluster = FastAndSlowNodes();
  TrainingOptions training = TestTraining(64);
  PipelinePlan plan;

  int num_microbatches() const {
    return training.global_batch_size / plan.pipeline_microbatch_size;
  }
  Evaluation Evaluate(std::vector<TimelineEvent>* timeline = nullptr) const {
    const absl::StatusOr<Evaluation> evaluation =
        EvaluatePlan(model, cluster, training, plan, timeline);
    EXPECT_THAT(evaluation, IsOk());
    return evaluation.ok() ? *evaluation : Evaluation();
  }
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_MIXED_REQUEST_H_
