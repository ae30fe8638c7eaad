#include "common/cost/layer_estimator.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestDevice;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;

// One estimator has the costs of all masks and ZeRO stages.
TEST(LayerEstimatorTest, AgreesWithEstimateLayer) {
  const LayerSpec layer = TestModel(1).layers[1];
  const int num_ops = static_cast<int>(OperatorsOf(layer).size());
  const DeviceSpec device = TestDevice();
  const TrainingOptions training = TestTraining();
  StageParallelism parallelism = {.tp_degree = 2, .dp_degree = 4};
  const StageEnvironment environment = {
      .device = device,
      .training = training,
      .wiring = WiringOf(TestIsland(2, 4), parallelism.num_gpus()),
      .pipeline_microbatch_size = 8};
  LayerEstimator estimator(layer, 0, num_ops, parallelism, environment);
  for (const int zero_stage : {0, 1, 2, 3, 0}) {
    parallelism.zero_stage = zero_stage;
    estimator.SetZeroStage(zero_stage);
    for (const OpMask mask : {OpMask{0}, OpMask{4}, WholeLayerMask(layer)}) {
      const LayerCost expected =
          EstimateLayer(layer, {0, num_ops, mask}, parallelism, environment);
      const LayerCost cost = estimator.Cost(mask);
      EXPECT_EQ(cost.forward_s, expected.forward_s);
      EXPECT_EQ(cost.backward_s, expected.backward_s);
      EXPECT_EQ(cost.comm_s, expected.comm_s);
      EXPECT_EQ(cost.activation_bytes, expected.activation_bytes);
      EXPECT_EQ(cost.transient_bytes, expected.transient_bytes);
      EXPECT_EQ(cost.parameters.dense, expected.parameters.dense);
    }
  }
}

}  // namespace
}  // namespace tangram
