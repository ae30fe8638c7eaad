#include "common/cost/model_state.h"

#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestDevice;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestTraining;

constexpr StageParameters kDense = {.dense = 1e9};
constexpr StageParameters kExpert = {.expert = 1e9};

double Bytes(const StageParameters& parameters, const StageParallelism& p) {
  return ModelStateBytes(parameters, p, TestTraining());
}

TEST(ModelStateBytesTest, CountsPrecisionAndOptimizer) {
  TrainingOptions training = TestTraining();
  EXPECT_EQ(ModelStateBytes(kDense, {}, training), 16e9);  // 2 + 2 + 12
  training.optimizer = Optimizer::kSgd;
  EXPECT_EQ(ModelStateBytes(kDense, {}, training), 12e9);  // 2 + 2 + 8
  training.precision = Precision::kFp32;
  EXPECT_EQ(ModelStateBytes(kDense, {}, training), 12e9);  // 4 + 4 + 4
  training.optimizer = Optimizer::kAdam;
  EXPECT_EQ(ModelStateBytes(kDense, {}, training), 16e9);  // 4 + 4 + 8
}

TEST(ModelStateBytesTest, Fp32GradientsAddTwoBytes) {
  TrainingOptions training = TestTraining();
  training.fp32_gradients = true;
  EXPECT_EQ(ModelStateBytes(kDense, {}, training), 18e9);
}

TEST(ModelStateBytesTest, AGradientCopyAddsTwoBytesAndHalfMomentsSaveFour) {
  TrainingOptions training = TestTraining();
  training.fp32_gradients = true;
  training.gradient_copy = true;
  EXPECT_EQ(ModelStateBytes(kDense, {}, training), 20e9);  // 2 + 4 + 2 + 12
  training.bf16_moments = true;
  EXPECT_EQ(ModelStateBytes(kDense, {}, training), 16e9);  // 2 + 6 + 4 + 2·2
  training.optimizer = Optimizer::kSgd;
  EXPECT_EQ(ModelStateBytes(kDense, {}, training), 16e9);  // 2 + 6 + 4 + 4
}

TEST(ModelStateBytesTest, ZeroShardsOverDataAndContextRanks) {
  StageParallelism p = {.cp_degree = 2, .dp_degree = 2};
  EXPECT_EQ(Bytes(kDense, p), 16e9);
  p.zero_stage = 1;
  EXPECT_EQ(Bytes(kDense, p), 7e9);  // 2 + 2 + 12/4
  p.zero_stage = 2;
  EXPECT_EQ(Bytes(kDense, p), 5.5e9);  // 2 + 14/4
  p.zero_stage = 3;
  EXPECT_EQ(Bytes(kDense, p), 4e9);  // 16/4
}

TEST(ModelStateBytesTest, ExpertsHaveFewerReplicas) {
  StageParallelism p = {.dp_degree = 8, .ep_degree = 4, .zero_stage = 3};
  EXPECT_EQ(Bytes(kExpert, p), 8e9);  // 16/2
  p.ep_degree = 8;
  EXPECT_EQ(Bytes(kExpert, p), 16e9);
}

TEST(ModelStateBytesTest, ZeroShardsOverAPartOfTheDataRanks) {
  StageParallelism p = {
      .cp_degree = 2, .dp_degree = 8, .zero_stage = 1, .zero_degree = 2};
  EXPECT_EQ(Bytes(kDense, p), 7e9);  // 2 + 2 + 12/4
  p.zero_stage = 3;
  EXPECT_EQ(Bytes(kDense, p), 4e9);  // 16/4
  p.ep_degree = 2;
  EXPECT_EQ(Bytes(kExpert, p), 8e9);  // 16/2
  p.zero_degree = 8;                  // All of them.
  EXPECT_EQ(Bytes(kDense, p), 1e9);
}

class GradientSyncTest : public ::testing::Test {
 protected:
  double Sync(const StageParameters& parameters, const StageParallelism& p) {
    return GradientSyncSeconds(
        parameters, passes_, p,
        {device_, training_, WiringOf(TestIsland(2, 4), p.num_gpus()), 8});
  }
  DeviceSpec device_ = TestDevice();
  TrainingOptions training_ = TestTraining();
  PassTimes passes_;
};

TEST_F(GradientSyncTest, Fp32GradientsAreTwiceTheBytes) {
  training_.fp32_gradients = true;
  EXPECT_DOUBLE_EQ(Sync(kDense, {.dp_degree = 4}), 0.06);
  // Weights are gathered in two bytes: 0.03 + 0.015.
  EXPECT_DOUBLE_EQ(Sync(kDense, {.dp_degree = 4, .zero_stage = 1}), 0.045);
}

TEST_F(GradientSyncTest, OverlapHidesWhatThePassesHaveRoomFor) {
  training_.overlap_grad_reduce = true;
  device_.efficiency.overlap_penalty = 0.1;
  passes_ = {.forward_s = 0.01, .backward_s = 0.02};
  // 0.03 beside 0.02: 0.01 is left, and 0.02 of compute is a tenth slower.
  EXPECT_DOUBLE_EQ(Sync(kDense, {.dp_degree = 4}), 0.01 + 0.002);
  // 0.015 reduced beside 0.02, 0.015 gathered beside 0.01.
  EXPECT_DOUBLE_EQ(Sync(kDense, {.dp_degree = 4, .zero_stage = 1}),
                   0.0015 + 0.005 + 0.001);
}

TEST_F(GradientSyncTest, ReducesTwoBytesAParameter) {
  // 2·3/4·2e9 / 100e9.
  EXPECT_DOUBLE_EQ(Sync(kDense, {.dp_degree = 4}), 0.03);
  EXPECT_EQ(Sync(kDense, {.tp_degree = 4}), 0);
  EXPECT_DOUBLE_EQ(Sync(kDense, {.cp_degree = 2, .dp_degree = 2}), 0.03);
}

TEST_F(GradientSyncTest, ReplicasInOtherNodesShareTheNetwork) {
  // tp 4 fills a node; four groups of 2 share 10 GB/s: 2·1/2·2e9 / 2.5e9.
  EXPECT_DOUBLE_EQ(Sync(kDense, {.tp_degree = 4, .dp_degree = 2}), 0.8);
}

TEST_F(GradientSyncTest, HigherZeroStagesPayPerMicrobatchInstead) {
  EXPECT_DOUBLE_EQ(Sync(kDense, {.dp_degree = 4, .zero_stage = 1}), 0.03);
  EXPECT_DOUBLE_EQ(Sync(kDense, {.dp_degree = 4, .zero_stage = 2}), 0.015);
  EXPECT_EQ(Sync(kDense, {.dp_degree = 4, .zero_stage = 3}), 0);
}

TEST_F(GradientSyncTest, ShardGroupsAddUpTheirShards) {
  StageParallelism p = {.dp_degree = 8, .zero_stage = 1, .zero_degree = 4};
  // In a node, 2e9 bytes are scattered and gathered: 2·3/4·2e9 / 100e9. Between
  // nodes, four groups of two share 10 GB/s: 2·1/2·(2e9/4) / 2.5e9.
  EXPECT_DOUBLE_EQ(Sync(kDense, p), 0.03 + 0.2);
  p.zero_stage = 2;
  EXPECT_DOUBLE_EQ(Sync(kDense, p), 0.015 + 0.2);
  p.zero_stage = 3;
  EXPECT_DOUBLE_EQ(Sync(kDense, p), 0.2);
  // Experts: nothing in the group of their only shard.
  p.ep_degree = 4;
  EXPECT_DOUBLE_EQ(Sync(kExpert, p), 0.8);
}

TEST_F(GradientSyncTest, OneShardGroupIsAsWithoutGroups) {
  for (const int zero_stage : {1, 2, 3}) {
    EXPECT_EQ(
        Sync(kDense, {.dp_degree = 8, .zero_stage = zero_stage}),
        Sync(kDense,
             {.dp_degree = 8, .zero_stage = zero_stage, .zero_degree = 8}));
  }
}

TEST_F(GradientSyncTest, ShardsAreAddedUpBesideTheBackwardPass) {
  training_.overlap_grad_reduce = true;
  device_.efficiency.overlap_penalty = 0.1;
  passes_ = {.forward_s = 0.1, .backward_s = 0.1};
  // 0.2 beside 0.1: 0.1 is left, and 0.1 of compute is a tenth slower.
  EXPECT_DOUBLE_EQ(
      Sync(kDense, {.dp_degree = 8, .zero_stage = 3, .zero_degree = 4}),
      0.1 + 0.01);
}

TEST_F(GradientSyncTest, ExpertsAreReducedOverTheirReplicas) {
  EXPECT_EQ(Sync(kExpert, {.dp_degree = 4, .ep_degree = 4}), 0);
  // 2 replicas 2 apart: 2·1/2·2e9 / 100e9.
  EXPECT_DOUBLE_EQ(Sync(kExpert, {.dp_degree = 4, .ep_degree = 2}), 0.02);
}

TEST(OptimizerSecondsTest, PassesOverTheStateThatItOwns) {
  const DeviceSpec device = TestDevice();
  TrainingOptions training = TestTraining();
  const StageEnvironment environment = {device, training,
                                        WiringOf(TestIsland(2, 4), 4), 8};
  // Adam: 2·12 + 2 + 2 = 28 bytes a parameter at 1e12 a second.
  EXPECT_DOUBLE_EQ(OptimizerSeconds(kDense, {.dp_degree = 4}, environment),
                   0.028);
  EXPECT_DOUBLE_EQ(
      OptimizerSeconds(kDense, {.dp_degree = 4, .zero_stage = 1}, environment),
      0.007);
  EXPECT_DOUBLE_EQ(
      OptimizerSeconds(kDense,
                       {.dp_degree = 4, .zero_stage = 1, .zero_degree = 2},
                       environment),
      0.014);
  EXPECT_DOUBLE_EQ(
      OptimizerSeconds(kExpert,
                       {.dp_degree = 4, .ep_degree = 2, .zero_stage = 1},
                       environment),
      0.014);
  training.precision = Precision::kFp32;  // 2·8 + 4 + 8.
  EXPECT_DOUBLE_EQ(OptimizerSeconds(kDense, {.dp_degree = 4}, environment),
                   0.028);
}

}  // namespace
}  // namespace tangram
