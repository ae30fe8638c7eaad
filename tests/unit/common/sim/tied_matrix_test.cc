#include "common/sim/tied_matrix.h"

#include "gtest/gtest.h"
#include "tests/unit/common/sim/two_node_inputs.h"

namespace tangram {
namespace {

using testing::TwoNodeInputs;

TwoNodeInputs Tied() {
  TwoNodeInputs in;
  for (LayerSpec* end : {&in.model.layers.front(), &in.model.layers.back()}) {
    end->tied_embeddings = true;
  }
  return in;
}

TEST(TiedMatrixTest, EachReplicaMovesItsGradients) {
  const TwoNodeInputs in = Tied();
  const LayerSpec& head = in.model.layers.back();
  const TransferPath path = {
      .link = {.bandwidth_bytes_per_s = 1e9, .pair_bandwidth_bytes_per_s = 1e9},
      .flows = 4,
      .node_pairs = 1};
  // Four replicas of 16-bit gradients, over a network of 1 GB/s.
  EXPECT_DOUBLE_EQ(TiedMatrixSeconds(in.model, in.training, in.plan, path),
                   4.0 * head.vocab_size * head.hidden_size * 2 / 1e9);
}

TEST(TiedMatrixTest, Fp32CopiesToReduceAreNotExchanged) {
  TwoNodeInputs in = Tied();
  const TransferPath path = {
      .link = {.bandwidth_bytes_per_s = 1e9, .pair_bandwidth_bytes_per_s = 1e9},
      .flows = 4,
      .node_pairs = 1};
  const auto seconds = [&] {
    return TiedMatrixSeconds(in.model, in.training, in.plan, path);
  };
  const double in_16_bits = seconds();
  in.training.fp32_gradients = true;
  EXPECT_DOUBLE_EQ(seconds(), 2 * in_16_bits);
  in.training.gradient_copy = true;
  EXPECT_DOUBLE_EQ(seconds(), in_16_bits);
  in.training.precision = Precision::kBf16;  // The sums are in fp32.
  EXPECT_DOUBLE_EQ(seconds(), 2 * in_16_bits);
}

TEST(TiedMatrixTest, OneDeviceOrAHeadOfItsOwnExchangesNothing) {
  TwoNodeInputs in = Tied();
  EXPECT_TRUE(SplitsTiedMatrix(in.model, in.plan));
  in.plan.virtual_stages = 2;  // Both stages on one device.
  EXPECT_FALSE(SplitsTiedMatrix(in.model, in.plan));
  EXPECT_FALSE(SplitsTiedMatrix(TwoNodeInputs().model, TwoNodeInputs().plan));
}

TEST(TiedMatrixTest, TheExchangeFollowsTheReduction) {
  const Evaluation untied = TwoNodeInputs().Evaluate();
  const Evaluation tied = Tied().Evaluate();
  const double exchange_s = tied.stages[0].sync_s - untied.stages[0].sync_s;
  EXPECT_GT(exchange_s, 0);
  EXPECT_DOUBLE_EQ(tied.stages[1].sync_s - untied.stages[1].sync_s, exchange_s);
  EXPECT_NEAR(tied.iteration_time_s - untied.iteration_time_s, exchange_s,
              1e-9 * tied.iteration_time_s);
}

}  // namespace
}  // namespace tangram
