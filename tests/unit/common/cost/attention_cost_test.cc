#include "common/cost/operator_cost.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestDevice;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;

// Two samples of 512 tokens, 16 heads of 64: 2·16·512² = 2^23 scores.
constexpr double kScores = 1 << 23;
constexpr double kHeadElements = 1 << 20;

class AttentionCostTest : public ::testing::Test {
 protected:
  OperatorCost Estimate(const StageParallelism& parallelism = {},
                        OpKind op = OpKind::kAttentionCore) {
    return EstimateOperator(
        layer_, op, parallelism,
        {device_, training_, WiringOf(TestIsland(2, 4), parallelism.num_gpus()),
         2});
  }

  LayerSpec layer_ = TestModel(1).layers[1];
  DeviceSpec device_ = TestDevice();
  TrainingOptions training_ = TestTraining();
};

TEST_F(AttentionCostTest, FlashSkipsHalfTheScores) {
  const OperatorCost core = Estimate();
  // Two products of 2·64 FLOPs a score, half the scores: 128·2^23 = 1.07e9
  // FLOPs. Backward 2.5 times.
  EXPECT_DOUBLE_EQ(core.forward_s, 128 * kScores / 1e14);
  EXPECT_DOUBLE_EQ(core.backward_s, 2.5 * core.forward_s);
  // Q, K, V in two bytes each and one fp32 a head and token.
  EXPECT_EQ(core.saved_bytes, 6 * kHeadElements + 4 * 16 * 1024);
}

TEST_F(AttentionCostTest, UnfusedPassesOverTheScoresAndKeepsThem) {
  device_.supports_flash_attention = false;
  const OperatorCost core = Estimate();
  // Each product is bound by its 2 bytes a score, 2^24/1e12 = 1.68e-5, over its
  // FLOPs at 0.75 of the rate of a fused kernel: 128·2^23/0.75e14 = 1.43e-5.
  // Softmax 4 bytes, dropout 5.
  const double product_s = 2 * kScores / 1e12;
  EXPECT_DOUBLE_EQ(core.forward_s, 2 * product_s + (4 + 5) * kScores / 1e12);
  EXPECT_DOUBLE_EQ(core.backward_s, 4 * product_s + (6 + 5) * kScores / 1e12);
  EXPECT_EQ(core.saved_bytes, 6 * kHeadElements + 5 * kScores);
  EXPECT_EQ(core.input_bytes, 6 * kHeadElements);
}

TEST_F(AttentionCostTest, WithoutDropoutOnlySoftmaxIsKept) {
  device_.supports_flash_attention = false;
  const OperatorCost with = Estimate();
  training_.dropout = false;
  const OperatorCost without = Estimate();
  EXPECT_NEAR(with.forward_s - without.forward_s, 5 * kScores / 1e12, 1e-12);
  EXPECT_EQ(without.saved_bytes, 6 * kHeadElements + 2 * kScores);
}

TEST_F(AttentionCostTest, GradientsOfLongSoftmaxesAreNotInPlace) {
  device_.supports_flash_attention = false;
  training_.sequence_length = 2048;
  EXPECT_EQ(Estimate().workspace_bytes, 0);
  training_.sequence_length = 4096;
  // Two samples, 16 heads, 4096² scores in two bytes, before and after.
  EXPECT_EQ(Estimate().workspace_bytes, 2 * 2.0 * 2 * 16 * 4096 * 4096);
}

TEST_F(AttentionCostTest, HeadsThatTensorCoresCannotReadAreSlower) {
  device_.supports_flash_attention = false;
  device_.memory_bandwidth_bytes_per_s *= 1000;
  device_.efficiency.odd_penalty = 3;
  const double even_s = Estimate().forward_s;
  layer_.head_dim = layer_.value_head_dim = 60;
  EXPECT_NEAR(Estimate().forward_s / even_s, 4 * 60.0 / 64, 0.01);
}

TEST_F(AttentionCostTest, WithoutTensorCoresFp32UnitsLimitHeads) {
  device_.supports_flash_attention = false;
  device_.memory_bandwidth_bytes_per_s *= 1000;
  device_.efficiency.odd_penalty = 1;
  device_.peak_flops.fp32 = device_.peak_flops.fp16 / 16;
  const double even_s = Estimate().forward_s;
  layer_.head_dim = layer_.value_head_dim = 60;
  // 0.75 of the fp16 peak, against 0.6 of the fp32 peak.
  EXPECT_NEAR(Estimate().forward_s / even_s, 16 * 0.75 / 0.6 * 60 / 64, 0.1);
  // TF32 and fp32 have units of their own.
  training_.precision = Precision::kFp32;
  const double odd_s = Estimate().forward_s;
  layer_.head_dim = layer_.value_head_dim = 64;
  EXPECT_NEAR(odd_s / Estimate().forward_s, 2 * 60.0 / 64, 0.01);
}

TEST_F(AttentionCostTest, FlashIsOffWhereTheJobSaysSo) {
  training_.flash_attention = false;
  EXPECT_GT(Estimate().saved_bytes, 5 * kScores);
}

TEST_F(AttentionCostTest, WindowLimitsWhatAQuerySees) {
  layer_.sliding_window = 128;
  device_.memory_bandwidth_bytes_per_s *= 10;
  // Mean keys: 128 − 128²/(2·512) = 112 instead of 256.
  EXPECT_DOUBLE_EQ(Estimate().forward_s, 128 * kScores / 1e14 * 112 / 256);
  device_.supports_flash_attention = false;
  EXPECT_EQ(Estimate().saved_bytes, 6 * kHeadElements + 5 * kScores / 4);
  layer_.sliding_window = 4096;  // Longer than the sequence.
  EXPECT_EQ(Estimate().saved_bytes, 6 * kHeadElements + 5 * kScores);
}

TEST_F(AttentionCostTest, TensorParallelismSplitsHeads) {
  device_.supports_flash_attention = false;
  EXPECT_EQ(Estimate({.tp_degree = 4}).saved_bytes,
            (6 * kHeadElements + 5 * kScores) / 4);
}

TEST_F(AttentionCostTest, GroupedQueriesKeepFewerKeysAndValues) {
  layer_.num_kv_heads = 2;
  // Q 16 heads, K and V 2 each, of 64, for 1,024 tokens in 2 bytes.
  EXPECT_EQ(Estimate().input_bytes, 2.0 * 1024 * 64 * (16 + 2 + 2));
  // 4 ranks share 2 heads of K and V: each holds one.
  EXPECT_EQ(Estimate({.tp_degree = 4}).input_bytes,
            2.0 * 1024 * 64 * (4 + 1 + 1));
  // And so the projection is 1,024·64·6 and not a quarter of 1,024·64·20.
  EXPECT_EQ(Estimate({.tp_degree = 4}, OpKind::kQkvProjection).dense_parameters,
            1024.0 * 64 * 6);
}

TEST_F(AttentionCostTest, RingIsPaidOnlyWhereItExceedsCompute) {
  const StageParallelism p = {.cp_degree = 4};
  // Each rank: 256 tokens, K and V in 2·2·1024 bytes; gathered 4·2^20 bytes
  // over 4 ranks at 100 GB/s: 3/4·2^22/1e11 = 3.146e-5. Compute is a quarter
  // of 1.074e-5.
  const double ring_s = 3.145728e-5;
  const double compute_s = 128 * kScores / 4 / 1e14;
  const OperatorCost slow = Estimate(p);
  EXPECT_DOUBLE_EQ(slow.forward_s, ring_s);
  EXPECT_DOUBLE_EQ(slow.forward_comm_s, ring_s - compute_s);
  EXPECT_DOUBLE_EQ(slow.backward_s, 2 * ring_s);

  device_.peak_flops.fp16 = 1e12;  // Compute takes 2.7e-4 s and hides it.
  EXPECT_EQ(Estimate(p).forward_comm_s, 0);
}

TEST_F(AttentionCostTest, LatentProjectionsAreWholeOnEveryRank) {
  layer_.q_lora_rank = 256;
  layer_.kv_lora_rank = 128;
  layer_.rope_head_dim = 16;
  // Down to the ranks: 1024·(256 + 128 + 16) = 409,600. Up: 16 heads of
  // 256·64 + 128·(48 + 64) = 30,720 → 491,520.
  const OperatorCost one = Estimate({}, OpKind::kQkvProjection);
  // The product also moves 2 bytes for each element of input, weights and
  // output, as one of 1,024 columns in and 880 (640) out.
  const auto seconds = [](double weights) {
    return 2.0 * 1024 * weights / 1e14 +
           2 * (1024.0 * 1024 + weights + weights) / 1e12;
  };
  EXPECT_DOUBLE_EQ(one.forward_s, seconds(409600 + 491520));
  const OperatorCost two = Estimate({.tp_degree = 2}, OpKind::kQkvProjection);
  EXPECT_DOUBLE_EQ(two.forward_s, seconds(409600 + 245760));
  // The input, and the latents before and after their norm.
  EXPECT_EQ(one.saved_bytes, 2 * kHeadElements + 4.0 * 1024 * (256 + 128));
}

TEST_F(AttentionCostTest, QueryAndKeyNormsCostAPass) {
  const double without = Estimate({}, OpKind::kQkvProjection).forward_s;
  layer_.qk_norm = true;
  EXPECT_GT(Estimate({}, OpKind::kQkvProjection).forward_s, without);
}

}  // namespace
}  // namespace tangram
