#include "common/sim/stage_estimator.h"

#include <functional>
#include <vector>

#include "common/sim/evaluate_plan.h"
#include "gtest/gtest.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/sim/two_node_inputs.h"

namespace tangram {
namespace {

using testing::NodeGpus;
using testing::StageOn;

// Every change of one field of a stage, back and forth.
TEST(StageEstimatorTest, CostsThatAreKnownAreThoseOfAFreshEvaluation) {
  testing::TwoNodeInputs in;
  in.training.global_batch_size = 32;
  for (Node& node : in.cluster.nodes) {
    node.device.host = {.bandwidth_bytes_per_s = 1e9, .memory_bytes = 1e12};
  }
  StageEstimator known(in.model, in.cluster, in.training);
  const std::vector<std::function<void(PlacedStage&)>> changes = {
      [](PlacedStage&) {},
      [](PlacedStage& s) {
        s.plan.parallelism = {.tp_degree = 2, .dp_degree = 2};
      },
      [](PlacedStage& s) {
        s.plan.parallelism = {.cp_degree = 2, .dp_degree = 2};
      },
      [](PlacedStage& s) { s.plan.parallelism.zero_stage = 1; },
      [](PlacedStage& s) {
        s.plan.parallelism = {.tp_degree = 4, .sequence_parallel = true};
      },
      [](PlacedStage& s) { s.plan.parallelism = {.tp_degree = 4}; },
      [](PlacedStage& s) {
        s.plan.parallelism = {.tp_degree = 4, .tp_y_degree = 2};
      },
      [](PlacedStage& s) {
        s.plan.recompute = {{1, 0}, {4, 2}, {1, 0}};
      },
      [](PlacedStage& s) { s.plan.offload.optimizer = 0.5; },
      [](PlacedStage& s) { s.plan.offload.activations = 0.5; },
      [](PlacedStage& s) { s.gpus = NodeGpus(1, 4); }};
  const PipelinePlan start = {
      .pipeline_microbatch_size = 16,
      .stages = {StageOn(0, 6, {.dp_degree = 4}, NodeGpus(0, 4))}};
  for (int round = 0; round < 2; ++round) {
    for (const auto& change : changes) {
      for (const int microbatch : {8, 16}) {
        in.plan = start;
        in.plan.pipeline_microbatch_size = microbatch;
        change(in.plan.stages[0]);
        ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                             EvaluatePlan(known, in.plan));
        const Evaluation fresh = in.Evaluate();
        EXPECT_EQ(evaluation.iteration_time_s, fresh.iteration_time_s);
        EXPECT_EQ(evaluation.stages[0].peak_bytes, fresh.stages[0].peak_bytes);
        EXPECT_EQ(evaluation.stages[0].host_bytes, fresh.stages[0].host_bytes);
      }
    }
  }
}

}  // namespace
}  // namespace tangram
