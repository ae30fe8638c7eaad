#include "common/cost/stage_cost.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestDevice;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::tangram::testing::TestTraining;

// Two samples of 512 tokens, hidden 1,024: s·b·h = 2^20. 16 heads, so
// 5·a·s/h = 40.
constexpr double kSbh = 1 << 20;
constexpr int kNumOps = 10;
constexpr OpMask kAllOps = (1 << kNumOps) - 1;
constexpr OpMask kAttentionCoreOnly = 1 << 2;

class LayerCostTest : public ::testing::Test {
 protected:
  LayerCost Estimate(const StageParallelism& parallelism,
                     OpMask mask = kRecomputeNone, int begin = 0,
                     int end = kNumOps) {
    return EstimateLayer(layer_, {begin, end, mask}, parallelism,
                         Environment(parallelism));
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

TEST_F(LayerCostTest, ActivationsFollowMegatron) {
  device_.supports_flash_attention = false;
  // 2205.05198 eq. 1, 2 and 4 with t = 4.
  EXPECT_EQ(Estimate({}).activation_bytes, kSbh * (34 + 40));
  EXPECT_EQ(Estimate({.tp_degree = 4}).activation_bytes,
            kSbh * (10 + 24.0 / 4 + 40.0 / 4));
  EXPECT_EQ(
      Estimate({.tp_degree = 4, .sequence_parallel = true}).activation_bytes,
      kSbh * (34 + 40) / 4);
}

TEST_F(LayerCostTest, SelectiveRecomputationDropsTheScores) {
  device_.supports_flash_attention = false;
  const LayerCost cost = Estimate({}, kAttentionCoreOnly);
  EXPECT_EQ(cost.activation_bytes, kSbh * 34);
  // The core's own Q, K, V and scores, while it is recomputed.
  EXPECT_EQ(cost.transient_bytes, kSbh * (6 + 40));
}

TEST_F(LayerCostTest, FullRecomputationKeepsTheInputAlone) {
  device_.supports_flash_attention = false;
  const LayerCost none = Estimate({});
  const LayerCost full = Estimate({}, kAllOps);
  EXPECT_EQ(full.activation_bytes, 2 * kSbh);
  EXPECT_EQ(full.transient_bytes, kSbh * (34 + 40));
  EXPECT_DOUBLE_EQ(full.recompute_s, none.forward_s);
  EXPECT_DOUBLE_EQ(full.backward_s, none.backward_s + none.forward_s);
  EXPECT_DOUBLE_EQ(full.forward_s, none.forward_s);
}

TEST_F(LayerCostTest, EachSegmentKeepsItsInputAndTheLargestIsTransient) {
  // MLP norm and up (inputs 2 + 2 kept), then activation alone kept (8), then
  // down and residual (8 + 1).
  const OpMask mask = 1 << 5 | 1 << 6 | 1 << 8 | 1 << 9;
  const LayerCost mlp = Estimate({}, mask, 5, kNumOps);
  EXPECT_EQ(mlp.activation_bytes, kSbh * (2 + 8 + 8));
  EXPECT_EQ(mlp.transient_bytes, kSbh * 9);
}

TEST_F(LayerCostTest, WhatFollowsADroppedOutputDoesNotKeepIt) {
  device_.supports_flash_attention = false;
  // The MLP's norm, whose output the up projection reads: 2 of 34.
  const OpMask norm = 1 << 5;
  EXPECT_EQ(Estimate({}, norm).activation_bytes, kSbh * (34 + 40));
  const LayerCost dropped = Estimate({}, norm | kDropOutputs);
  EXPECT_EQ(dropped.activation_bytes, kSbh * (32 + 40));
  // While the projection runs backward: the norm's input and output.
  EXPECT_EQ(dropped.transient_bytes, kSbh * (2 + 2));
  EXPECT_DOUBLE_EQ(dropped.backward_s, Estimate({}, norm).backward_s);
  // The activation: the down projection keeps 8 less. Q, K and V: 6 less, but
  // not the 40 that the attention core makes itself.
  EXPECT_EQ(Estimate({}, 1 << 7 | kDropOutputs).activation_bytes,
            kSbh * (26 + 40));
  EXPECT_EQ(Estimate({}, 1 << 1 | kDropOutputs).activation_bytes,
            kSbh * (28 + 40));
}

TEST_F(LayerCostTest, PiecesAddUpToTheLayer) {
  const StageParallelism p = {.tp_degree = 2, .dp_degree = 2, .zero_stage = 1};
  LayerCost sum = Estimate(p, kRecomputeNone, 0, 4);
  AddLayers(Estimate(p, kRecomputeNone, 4, kNumOps), 1, sum);
  const LayerCost whole = Estimate(p);
  EXPECT_DOUBLE_EQ(sum.forward_s, whole.forward_s);
  EXPECT_DOUBLE_EQ(sum.backward_s, whole.backward_s);
  EXPECT_DOUBLE_EQ(sum.comm_s, whole.comm_s);
  EXPECT_DOUBLE_EQ(sum.activation_bytes, whole.activation_bytes);
  EXPECT_DOUBLE_EQ(sum.parameters.dense, whole.parameters.dense);
}

TEST_F(LayerCostTest, RecomputationRepeatsForwardCollectives) {
  // Two all-reduces of 2^21 bytes over 4 ranks each way, 3.145728e-5 s each.
  EXPECT_DOUBLE_EQ(Estimate({.tp_degree = 4}).comm_s, 4 * 3.145728e-5);
  EXPECT_DOUBLE_EQ(Estimate({.tp_degree = 4}, kAllOps).comm_s, 6 * 3.145728e-5);
}

TEST_F(LayerCostTest, ShardedStateIsPaidWhereItExceedsCompute) {
  const StageParallelism zero1 = {.dp_degree = 4, .zero_stage = 1};
  const StageParallelism zero2 = {.dp_degree = 4, .zero_stage = 2};
  const StageParallelism zero3 = {.dp_degree = 4, .zero_stage = 3};
  const LayerCost plain = Estimate(zero1);
  // Hidden: 12·1024² parameters of 2 bytes at 3/4 / 100e9 take 1.9e-4 s, the
  // forward pass 3e-4 s.
  EXPECT_DOUBLE_EQ(Estimate(zero3).forward_s, plain.forward_s);
  // Ten times faster compute hides little of it.
  device_.peak_flops.fp16 *= 10;
  device_.memory_bandwidth_bytes_per_s *= 10;
  const double parameters = plain.parameters.dense;
  const double sweep_s = 0.75 * 2 * parameters / 100e9;
  EXPECT_DOUBLE_EQ(Estimate(zero3).forward_s, sweep_s);
  EXPECT_DOUBLE_EQ(Estimate(zero3).backward_s, 2 * sweep_s);
  EXPECT_DOUBLE_EQ(Estimate(zero2).backward_s, sweep_s);
  EXPECT_LT(Estimate(zero2).forward_s, sweep_s);
  // Held meanwhile: gradients, and under ZeRO 3 the gathered weights.
  EXPECT_EQ(Estimate(zero2).transient_bytes, 2 * parameters);
  EXPECT_EQ(Estimate(zero3).transient_bytes, 4 * parameters);
  EXPECT_EQ(Estimate({.zero_stage = 3}).transient_bytes, 0);
}

TEST_F(LayerCostTest, ShardedStateHidesBehindComputeOnly) {
  // tp fills a node, so the two replicas' four groups share 10 GB/s. Nothing
  // hides behind the two all-reduces that the forward pass waits for.
  const LayerCost cost =
      Estimate({.tp_degree = 4, .dp_degree = 2, .zero_stage = 3});
  const double sweep_s = 0.5 * 2 * cost.parameters.dense / 2.5e9;
  EXPECT_DOUBLE_EQ(cost.forward_s, 2 * 3.145728e-5 + sweep_s);
}

TEST_F(LayerCostTest, ExpertsAreCountedApart) {
  layer_ = TestMoeModel(1).layers[1];
  const LayerCost cost =
      Estimate({.dp_degree = 4, .ep_degree = 4}, kRecomputeNone, 0, 13);
  EXPECT_EQ(cost.parameters.expert, 2.0 * 2 * 1024 * 4096);
  EXPECT_EQ(cost.parameters.dense, 4.0 * 1024 * 1024 + 2 * 1024 + 8 * 1024);
}

TEST_F(LayerCostTest, MeasuredShareCountsRecomputation) {
  device_.measured = {
      {.key = MeasurementKey(layer_, OpKind::kMlpUp, {}, 2, training_),
       .forward_s = 1,
       .backward_s = 3}};
  EXPECT_DOUBLE_EQ(Estimate({}).measured_s, 4);
  EXPECT_DOUBLE_EQ(Estimate({}, kAllOps).measured_s, 5);
}

}  // namespace
}  // namespace tangram
