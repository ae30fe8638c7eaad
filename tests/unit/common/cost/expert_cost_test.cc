#include <utility>

#include "common/cost/operator_cost.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestDevice;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestMoeModel;
using ::tangram::testing::TestTraining;

// Grouped products of `tokens` in all on `experts` experts of `width` columns:
// 2·1024·width FLOPs a token at 1e14, 2 bytes an element at 1e12, over 0.85.
double GroupedSeconds(double tokens, double experts, double width) {
  const double bytes =
      2 * (tokens * 1024 + experts * 1024 * width + tokens * width);
  return (tokens * 2 * 1024 * width / 1e14 + bytes / 1e12) / 0.85;
}

// 8 experts of ffn 4,096, 2 a token, hidden 1,024. Each replica has 2 samples
// of 512 tokens: 1,024 tokens, 2,048 routed.
class ExpertCostTest : public ::testing::Test {
 protected:
  OperatorCost Estimate(OpKind op, const StageParallelism& parallelism = {}) {
    return EstimateOperator(
        layer_, op, parallelism,
        {device_, training_, WiringOf(TestIsland(2, 4), parallelism.num_gpus()),
         2 * parallelism.dp_degree});
  }

  LayerSpec layer_ = TestMoeModel(1).layers[1];
  DeviceSpec device_ = TestDevice();
  TrainingOptions training_ = TestTraining();
};

constexpr StageParallelism kSpread = {.dp_degree = 4, .ep_degree = 4};
constexpr StageParallelism kSharded = {
    .dp_degree = 4, .ep_degree = 4, .fsep = true};

TEST_F(ExpertCostTest, ProductsServeTheRoutedTokens) {
  const OperatorCost up = Estimate(OpKind::kExpertUp);
  EXPECT_DOUBLE_EQ(up.forward_s, GroupedSeconds(2048, 8, 4096));
  EXPECT_EQ(up.expert_parameters, 8.0 * 1024 * 4096);
  EXPECT_EQ(up.dense_parameters, 0);
  EXPECT_EQ(up.saved_bytes, 2.0 * 2048 * 1024);
}

TEST_F(ExpertCostTest, SmallExpertsAreLessEfficient) {
  device_.efficiency.gemm_half_flops = 1e9;
  const double few = Estimate(OpKind::kExpertUp).forward_s;
  layer_.num_experts = 64;
  EXPECT_GT(Estimate(OpKind::kExpertUp).forward_s, 2 * few);
}

TEST_F(ExpertCostTest, ExpertParallelismSpreadsParametersAndUnevenLoad) {
  const OperatorCost one = Estimate(OpKind::kExpertUp);
  const OperatorCost spread = Estimate(OpKind::kExpertUp, kSpread);
  EXPECT_DOUBLE_EQ(spread.expert_parameters, one.expert_parameters / 4);
  // The busiest rank receives 1.25 times its share for its two experts.
  EXPECT_DOUBLE_EQ(spread.forward_s, GroupedSeconds(1.25 * 2048, 2, 4096));
}

TEST_F(ExpertCostTest, ExpertsComputeAllSlotsOfTheirCapacity) {
  const OperatorCost dropless = Estimate(OpKind::kExpertUp);
  const OperatorCost exchange = Estimate(OpKind::kExpertDispatch, kSpread);
  layer_.expert_capacity_factor = 2;
  const OperatorCost padded = Estimate(OpKind::kExpertUp);
  EXPECT_DOUBLE_EQ(padded.forward_s, GroupedSeconds(2 * 2048, 8, 4096));
  EXPECT_DOUBLE_EQ(padded.saved_bytes, 2 * dropless.saved_bytes);
  // No rank gets more than others; each holds two experts.
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kExpertUp, kSpread).forward_s,
                   GroupedSeconds(2 * 2048, 2, 4096));
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kExpertDispatch, kSpread).forward_comm_s,
                   exchange.forward_comm_s * 2 / 1.25);
}

TEST_F(ExpertCostTest, OneHotProductsGrowWithTheGroup) {
  layer_.expert_capacity_factor = 2;
  layer_.expert_group_tokens = 512;
  const OperatorCost dispatch = Estimate(OpKind::kExpertDispatch);
  const OperatorCost combine = Estimate(OpKind::kExpertCombine);
  // 1,024 tokens, 4 slots each: a row of 512 for each slot, times 1,024
  // columns. Each of the two groups reads 2,048 rows and 512 tokens, and writes
  // 2,048 slots, in 2 bytes an element.
  const double product_s =
      1024.0 * 4 * 2 * 512 * 1024 / 1e14 +
      2 * 2.0 * (2048 * 512 + 512 * 1024 + 2048 * 1024) / 1e12;
  EXPECT_DOUBLE_EQ(dispatch.forward_s, product_s);
  EXPECT_DOUBLE_EQ(dispatch.backward_s, product_s);
  EXPECT_DOUBLE_EQ(combine.forward_s, product_s);
  EXPECT_DOUBLE_EQ(combine.backward_s, 2 * product_s);
  EXPECT_EQ(combine.saved_bytes, 2.0 * 1024 * 4 * 512);
  layer_.expert_group_tokens = 4096;  // More tokens than there are: one group.
  EXPECT_DOUBLE_EQ(
      Estimate(OpKind::kExpertDispatch).forward_s,
      1024.0 * 4 * 2 * 1024 * 1024 / 1e14 +
          2.0 * (4096.0 * 1024 + 1024 * 1024 + 4096 * 1024) / 1e12);
}

TEST_F(ExpertCostTest, DispatchExchangesTokens) {
  EXPECT_EQ(Estimate(OpKind::kExpertDispatch).forward_comm_s, 0);
  const OperatorCost dispatch = Estimate(OpKind::kExpertDispatch, kSpread);
  // 1.25·2,048 tokens of 2,048 bytes, 3/4 of them to others at 100 GB/s.
  const double exchange_s = 0.75 * 1.25 * 2048 * 2048 / 100e9;
  EXPECT_DOUBLE_EQ(dispatch.forward_comm_s, exchange_s);
  EXPECT_DOUBLE_EQ(dispatch.backward_comm_s, exchange_s);
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kExpertCombine, kSpread).forward_comm_s,
                   exchange_s);
}

TEST_F(ExpertCostTest, FullyShardedExpertsAreEvenButFetched) {
  const OperatorCost up = Estimate(OpKind::kExpertUp, kSharded);
  const OperatorCost one = Estimate(OpKind::kExpertUp);
  // 2·1024·4096 parameters of 2 bytes, 3/4 of them from others: 1.26e-4 s,
  // hidden behind 2.47e-4 s of compute.
  EXPECT_DOUBLE_EQ(up.forward_s, GroupedSeconds(2048, 2, 4096));
  EXPECT_DOUBLE_EQ(up.expert_parameters, one.expert_parameters / 4);
  EXPECT_EQ(up.workspace_bytes, 2.0 * 2 * 1024 * 4096);
  device_.peak_flops.fp16 *= 4;
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kExpertUp, kSharded).forward_s,
                   0.75 * 2 * 2 * 1024 * 4096 / 100e9);
}

TEST_F(ExpertCostTest, ATokenIsSentToANodeOnce) {
  // Two nodes of four. Both choices are on one node in half of all cases: 1.5
  // copies are sent, not 2, and half of them to the other node.
  constexpr StageParallelism kTwoNodes = {.dp_degree = 8, .ep_degree = 8};
  const double bytes = 1.25 * 2048 * 2048;
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kExpertDispatch, kTwoNodes).forward_comm_s,
                   bytes * 0.75 / 2 / (10e9 / 4));
  // Where one node gets them all the same, nothing is saved.
  layer_.experts_per_token = 1;
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kExpertDispatch, kTwoNodes).forward_comm_s,
                   bytes / 2 / 2 / (10e9 / 4));
}

TEST_F(ExpertCostTest, CombineKeepsNothing) {
  EXPECT_EQ(Estimate(OpKind::kExpertCombine).saved_bytes, 0);
}

TEST_F(ExpertCostTest, TensorParallelismReducesTheCombinedTokens) {
  const OperatorCost combine =
      Estimate(OpKind::kExpertCombine, {.tp_degree = 4});
  // All-reduce of 2^21 bytes over 4 ranks.
  EXPECT_DOUBLE_EQ(combine.forward_comm_s, 3.145728e-5);
  EXPECT_EQ(combine.backward_comm_s, 0);
  EXPECT_DOUBLE_EQ(
      Estimate(OpKind::kExpertDispatch, {.tp_degree = 4}).backward_comm_s,
      3.145728e-5);
}

TEST_F(ExpertCostTest, SequenceParallelRanksExchangeAShareAndGather) {
  const OperatorCost dispatch = Estimate(
      OpKind::kExpertDispatch, {.tp_degree = 4, .sequence_parallel = true});
  // 2·2^21 routed bytes gathered over 4 ranks: 3/4·2^22 / 1e11.
  EXPECT_DOUBLE_EQ(dispatch.forward_comm_s, 3.145728e-5);
  EXPECT_DOUBLE_EQ(dispatch.backward_comm_s, 3.145728e-5);
}

TEST_F(ExpertCostTest, SharedExpertsRunBesideTheRouter) {
  const OperatorCost gate = Estimate(OpKind::kRouter);
  EXPECT_EQ(gate.dense_parameters, 1024 * 8);
  layer_.shared_expert_ffn_hidden_size = 2048;
  const OperatorCost both = Estimate(OpKind::kRouter);
  EXPECT_EQ(both.dense_parameters, 1024 * 8 + 2 * 1024 * 2048);
  // Two products of 2·1024·1024·2048 FLOPs, which move 2 bytes for each element
  // of tokens, weights and 2,048 columns, and one pass of 4 bytes.
  EXPECT_DOUBLE_EQ(both.forward_s - gate.forward_s,
                   2 * (2.0 * 1024 * 1024 * 2048 / 1e14 +
                        2.0 * 1024 * (1024 + 2048 + 2048) / 1e12) +
                       4.0 * 1024 * 2048 / 1e12);
  EXPECT_EQ(both.saved_bytes - gate.saved_bytes, 2.0 * 1024 * 2 * 2048);
}

TEST_F(ExpertCostTest, HostsIssueTheProductsOfEachExpert) {
  device_.efficiency.host_launch_s = 1e-5;
  const OperatorCost all = Estimate(OpKind::kExpertUp);
  const OperatorCost spread = Estimate(OpKind::kExpertUp, kSpread);
  // Six experts less, three kernels each.
  EXPECT_NEAR(all.forward_host_s - spread.forward_host_s, 6 * 3e-5, 1e-12);
}

TEST_F(ExpertCostTest, GatedExpertsHaveThreeMatrices) {
  const OperatorCost plain = Estimate(OpKind::kExpertUp);
  layer_.gated_mlp = true;
  const OperatorCost gated = Estimate(OpKind::kExpertUp);
  EXPECT_DOUBLE_EQ(gated.forward_s, GroupedSeconds(2048, 8, 2 * 4096));
  EXPECT_DOUBLE_EQ(gated.expert_parameters, 2 * plain.expert_parameters);
}

// Products of 1,024 tokens, or `share` of them, of widths 1,024 and 256.
double ProjectionSeconds(double share = 1) {
  const double tokens = share * 1024;
  return tokens * 2 * 1024 * 256 / 1e14 +
         2 * (tokens * 1024 + 1024 * 256 + tokens * 256) / 1e12;
}

TEST_F(ExpertCostTest, ExpertsOfAnotherWidthComputeAndKeepIt) {
  layer_.expert_latent_size = 256;
  for (const OpKind op : {OpKind::kExpertUp, OpKind::kExpertDown}) {
    const OperatorCost cost = Estimate(op);
    // 2,048 tokens, as wide as a quarter of the hidden size.
    const double bytes = 2 * (2048 * 256 + 8 * 256 * 4096 + 2048 * 4096);
    EXPECT_DOUBLE_EQ(cost.forward_s,
                     (2048. * 2 * 256 * 4096 / 1e14 + bytes / 1e12) / 0.85);
    EXPECT_EQ(cost.expert_parameters, 8.0 * 256 * 4096);
  }
  EXPECT_EQ(Estimate(OpKind::kExpertUp).saved_bytes, 2.0 * 2048 * 256);
}

TEST_F(ExpertCostTest, TokensAreProjectedBesideTheRouterAndAfterTheSum) {
  const OperatorCost router = Estimate(OpKind::kRouter);
  layer_.expert_latent_size = 256;
  const OperatorCost both = Estimate(OpKind::kRouter);
  EXPECT_NEAR(both.forward_s - router.forward_s, ProjectionSeconds(), 1e-15);
  EXPECT_NEAR(both.backward_s - router.backward_s, 2 * ProjectionSeconds(),
              1e-15);
  EXPECT_EQ(both.dense_parameters - router.dense_parameters, 1024 * 256);
  EXPECT_EQ(both.saved_bytes, router.saved_bytes);  // The same input.

  const OperatorCost combine = Estimate(OpKind::kExpertCombine);
  // One pass over two copies of a token, one of which the receiver moves again.
  const double sort_s = 2.0 * 1024 * 256 * 5 / 1e12;
  EXPECT_NEAR(combine.forward_s, sort_s + ProjectionSeconds(), 1e-15);
  EXPECT_NEAR(combine.backward_s, 2 * combine.forward_s, 1e-15);
  EXPECT_EQ(combine.dense_parameters, 256 * 1024);
  EXPECT_EQ(combine.expert_parameters, 0);
  EXPECT_EQ(combine.saved_bytes, 2.0 * 1024 * 256);
}

TEST_F(ExpertCostTest, TensorParallelRanksHoldTheProjectionsInFull) {
  layer_.shared_expert_ffn_hidden_size = 2048;
  layer_.expert_latent_size = 256;
  const StageParallelism tp = {.tp_degree = 4, .sequence_parallel = true};
  EXPECT_EQ(Estimate(OpKind::kRouter, tp).dense_parameters,
            1024 * 8 + 1024 * 256 + 2 * 1024 * 2048 / 4);
  const OperatorCost combine = Estimate(OpKind::kExpertCombine, tp);
  EXPECT_EQ(combine.dense_parameters, 256 * 1024);
  EXPECT_EQ(combine.saved_bytes, 2.0 * 256 * 256);
  EXPECT_NEAR(combine.forward_s - combine.forward_comm_s,
              2.0 * 256 * 256 * 5 / 1e12 + ProjectionSeconds(0.25), 1e-15);
}

// All collectives of dispatch and combine carry tokens as wide as the experts.
TEST_F(ExpertCostTest, CollectivesCarryTokensAsWideAsTheExperts) {
  for (const StageParallelism& parallelism :
       {kSpread, StageParallelism{.tp_degree = 4},
        StageParallelism{.tp_degree = 4, .sequence_parallel = true},
        StageParallelism{.dp_degree = 8, .ep_degree = 8}}) {
    for (const OpKind op : {OpKind::kExpertDispatch, OpKind::kExpertCombine}) {
      layer_.expert_latent_size = 0;
      const OperatorCost wide = Estimate(op, parallelism);
      layer_.expert_latent_size = 256;
      const OperatorCost narrow = Estimate(op, parallelism);
      EXPECT_DOUBLE_EQ(narrow.forward_comm_s, wide.forward_comm_s / 4);
      EXPECT_DOUBLE_EQ(narrow.backward_comm_s, wide.backward_comm_s / 4);
    }
  }
}

TEST_F(ExpertCostTest, HostsIssueTheProjections) {
  device_.efficiency.host_launch_s = 1e-5;
  for (const auto& [op, kernels] :
       {std::pair{OpKind::kRouter, 4}, std::pair{OpKind::kExpertDispatch, 0},
        std::pair{OpKind::kExpertCombine, 4}}) {
    layer_.expert_latent_size = 0;
    const double without_s = Estimate(op).forward_host_s;
    layer_.expert_latent_size = 256;
    EXPECT_NEAR(Estimate(op).forward_host_s - without_s, kernels * 1e-5, 1e-12);
  }
}

}  // namespace
}  // namespace tangram
