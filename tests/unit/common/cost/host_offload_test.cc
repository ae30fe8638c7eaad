#include "common/cost/host_offload.h"

#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestDevice;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;

constexpr double kBandwidth = 10e9;
constexpr double kSlower = 0.1;   // A pass beside a copy.
constexpr double kTwoWays = 0.5;  // Copies beside each other.

// A transformer layer, two samples a replica, fp16 with Adam: of a parameter,
// two bytes of weight, two of gradient and twelve of optimizer state.
class HostOffloadTest : public ::testing::Test {
 protected:
  HostOffloadTest() {
    device_.host = {.bandwidth_bytes_per_s = kBandwidth, .memory_bytes = 1e12};
    device_.efficiency.copy_penalty = kSlower;
    device_.efficiency.duplex_penalty = kTwoWays;
  }
  LayerCost Layer(const HostOffload& offload,
                  const StageParallelism& parallelism = {}) {
    return EstimateLayer(layer_, {0, 10, kRecomputeNone}, parallelism,
                         Environment(parallelism), offload);
  }
  StageCost Stage(const HostOffload& offload,
                  const StageParallelism& parallelism = {}) {
    LayerCost sum;
    AddLayers(Layer(offload, parallelism), 3, sum);
    return StageCostOf(sum, parallelism, Environment(parallelism), offload);
  }
  StageEnvironment Environment(const StageParallelism& parallelism) {
    return {device_, training_,
            WiringOf(TestIsland(2, 4), parallelism.num_gpus()),
            2 * parallelism.dp_degree};
  }

  LayerSpec layer_ = TestModel(1).layers[1];
  DeviceSpec device_ = TestDevice();
  TrainingOptions training_ = TestTraining();
};

TEST_F(HostOffloadTest, ActivationsLeaveForwardAndComeBackward) {
  const LayerCost plain = Layer({});
  const double half = plain.activation_bytes / 2;
  const LayerCost cost = Layer({.activations = 0.5});
  EXPECT_DOUBLE_EQ(cost.activation_bytes, half);
  EXPECT_DOUBLE_EQ(cost.host_activation_bytes, half);
  // The layer at work and its neighbour on the link need it.
  EXPECT_DOUBLE_EQ(cost.transient_bytes, plain.transient_bytes + 2 * half);
  // 1.8 ms a pass, longer than either of 0.3 ms and 0.6 ms.
  const double copy_s = half / kBandwidth;
  EXPECT_GT(copy_s, plain.backward_s);
  EXPECT_DOUBLE_EQ(cost.forward_s, copy_s + kSlower * plain.forward_s);
  EXPECT_DOUBLE_EQ(cost.backward_s, copy_s + kSlower * plain.backward_s);
  EXPECT_DOUBLE_EQ(cost.forward_copy_s, cost.forward_s - plain.forward_s);
  EXPECT_DOUBLE_EQ(cost.backward_copy_s, cost.backward_s - plain.backward_s);
}

TEST_F(HostOffloadTest, CopiesThatFitBesideThePassesOnlySlowThemDown) {
  device_.host.bandwidth_bytes_per_s = 1e12;
  const LayerCost plain = Layer({});
  const double copy_s = plain.activation_bytes / 1e12;
  EXPECT_LT(copy_s, plain.forward_s);
  EXPECT_DOUBLE_EQ(Layer({.activations = 1}).forward_s,
                   plain.forward_s + kSlower * copy_s);
}

TEST_F(HostOffloadTest, WeightsComeInBothPassesAndGradientsGoBothWays) {
  const LayerCost plain = Layer({});
  const double bytes = 2 * plain.parameters.dense;  // Each of the two.
  const LayerCost cost = Layer({.weights = 1, .gradients = 1});
  EXPECT_DOUBLE_EQ(cost.forward_s,
                   bytes / kBandwidth + kSlower * plain.forward_s);
  // In: both; out: gradients.
  EXPECT_DOUBLE_EQ(
      cost.backward_s,
      (2 * bytes + kTwoWays * bytes) / kBandwidth + kSlower * plain.backward_s);
  EXPECT_DOUBLE_EQ(cost.transient_bytes, plain.transient_bytes + 4 * bytes);
  EXPECT_EQ(cost.activation_bytes, plain.activation_bytes);
}

TEST_F(HostOffloadTest, ShardedStateHasABufferAlready) {
  const StageParallelism zero3 = {.dp_degree = 4, .zero_stage = 3};
  const LayerCost plain = Layer({}, zero3);
  const double bytes = 2 * plain.parameters.dense;
  EXPECT_DOUBLE_EQ(
      Layer({.weights = 0.5, .gradients = 0.5}, zero3).transient_bytes,
      plain.transient_bytes + 2 * bytes);
}

TEST_F(HostOffloadTest, AStageLeavesItsStateOnTheHost) {
  const double parameters = 3 * Layer({}).parameters.dense;
  const StageCost plain = Stage({});
  const StageCost cost = Stage(
      {.weights = 0.5, .gradients = 0.25, .optimizer = 1, .activations = 1});
  EXPECT_DOUBLE_EQ(plain.memory.static_bytes, 16 * parameters);
  EXPECT_EQ(plain.memory.HostBytes(8), 0);
  EXPECT_DOUBLE_EQ(cost.memory.static_bytes, (1 + 1.5) * parameters);
  EXPECT_DOUBLE_EQ(cost.memory.weight_bytes, 1 * parameters);
  EXPECT_DOUBLE_EQ(cost.memory.gradient_bytes, 1.5 * parameters);
  EXPECT_EQ(cost.memory.optimizer_bytes, 0);
  EXPECT_DOUBLE_EQ(cost.memory.host_static_bytes, (1 + 0.5 + 12) * parameters);
  EXPECT_EQ(cost.memory.activation_bytes, 0);
  EXPECT_DOUBLE_EQ(
      cost.memory.HostBytes(2),
      cost.memory.host_static_bytes + 2 * plain.memory.activation_bytes);
}

TEST_F(HostOffloadTest, OptimizerStateIsCopiedOnceAnIteration) {
  const double state = 3 * 12 * Layer({}).parameters.dense;
  const StageCost plain = Stage({});
  const StageCost cost = Stage({.optimizer = 1});
  EXPECT_EQ(cost.forward_s, plain.forward_s);
  EXPECT_EQ(cost.backward_s, plain.backward_s);
  // In and out beside the first forward pass, which is shorter.
  EXPECT_DOUBLE_EQ(cost.optimizer_s, plain.optimizer_s +
                                         (1 + kTwoWays) * state / kBandwidth -
                                         (1 - kSlower) * plain.forward_s);
  // Every replica has its share of it under ZeRO.
  const StageParallelism zero1 = {.dp_degree = 2, .zero_stage = 1};
  EXPECT_DOUBLE_EQ(Stage({.optimizer = 1}, zero1).memory.host_static_bytes,
                   state / 2);
}

}  // namespace
}  // namespace tangram
