#ifndef TANGRAM_TESTS_UNIT_COMMON_SIM_TWO_NODE_INPUTS_H_
#define TANGRAM_TESTS_UNIT_COMMON_SIM_TWO_NODE_INPUTS_H_

#include "absl/status/statusor.h"
#include "common/sim/evaluate_plan.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram::testing {

// Two nodes of four GPUs; embedding, four layers, head; batch 32 in eight
// microbatches of four.
struct TwoNodeInputs {
  ModelSpec model = TestModel(4);
  Cluster cluster =
      TestCluster({{.name = "a", .num_nodes = 2, .device = TestDevice()}});
  TrainingOptions training = TestTraining();
  PipelinePlan plan = {
      .pipeline_microbatch_size = 4,
      .stages = {StageOn(0, 3, {.dp_degree = 4}, NodeGpus(0, 4)),
                 StageOn(3, 6, {.dp_degree = 4}, NodeGpus(1, 4))}};

  Evaluation Evaluate() const {
    const absl::StatusOr<Evaluation> evaluation =
        EvaluatePlan(model, cluster, training, plan);
    EXPECT_THAT(evaluation, IsOk());
    return evaluation.ok() ? *evaluation : Evaluation();
  }
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COMMON_SIM_TWO_NODE_INPUTS_H_
