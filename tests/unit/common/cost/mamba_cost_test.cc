#include "common/cost/least_work.h"
#include "common/cost/operator_cost.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/mamba_layers.h"

namespace tangram {
namespace {

using ::tangram::testing::TestDevice;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;

// Two samples of 512 tokens on a device of 1e14 FLOP/s and 1e12 bytes/s, in
// elements of two bytes.
constexpr double kTokens = 1024;
constexpr double kFlops = 1e14;
constexpr double kBytes = 1e12;

class MambaCostTest : public ::testing::Test {
 protected:
  OperatorCost Estimate(OpKind op, const StageParallelism& parallelism = {}) {
    return EstimateOperator(
        layer_, op, parallelism,
        {device_, training_, WiringOf(TestIsland(2, 4), parallelism.num_gpus()),
         2});
  }
  double WholeParameters(const StageParallelism& parallelism) {
    double sum = 0;
    for (const OpKind op : OperatorsOf(layer_)) {
      sum += Estimate(op, parallelism).dense_parameters;
    }
    return sum;
  }

  LayerSpec layer_ = testing::Mamba2Layer();
  const LayerSpec first_version_ = {.hidden_size = 1024,
                                    .mixer = MixerKind::kMamba,
                                    .no_mlp = true,
                                    .mamba = {.inner_size = 2048,
                                              .state_size = 16,
                                              .conv_kernel = 4,
                                              .dt_rank = 64,
                                              .inner_norms = true}};
  DeviceSpec device_ = TestDevice();
  TrainingOptions training_ = TestTraining();
};

TEST_F(MambaCostTest, ProjectionsAreProducts) {
  // x and z, B and C of 8 · 128 each, 32 time steps.
  constexpr double kColumns = 2 * 2048 + 2 * 1024 + 32;
  const OperatorCost in = Estimate(OpKind::kMambaInProjection);
  EXPECT_DOUBLE_EQ(
      in.forward_s,
      2 * kTokens * 1024 * kColumns / kFlops +
          2 * (kTokens * 1024 + 1024 * kColumns + kTokens * kColumns) / kBytes);
  EXPECT_DOUBLE_EQ(in.backward_s, 2 * in.forward_s);
  EXPECT_EQ(in.saved_bytes, 2 * kTokens * 1024);
  EXPECT_EQ(in.dense_parameters, 1024 * kColumns);
  const OperatorCost out = Estimate(OpKind::kMambaOutProjection);
  EXPECT_EQ(out.saved_bytes, 2 * kTokens * 2048);
  EXPECT_EQ(out.dense_parameters, 2048 * 1024);
}

TEST_F(MambaCostTest, TheConvolutionKeepsWhatTheProjectionMade) {
  const OperatorCost convolution = Estimate(OpKind::kMambaConvolution);
  // x, B and C are read and written; backward they are computed again.
  const double bytes = 2 * kTokens * (2048 + 2048);
  EXPECT_DOUBLE_EQ(convolution.forward_s, 2 * bytes / kBytes);
  EXPECT_DOUBLE_EQ(convolution.backward_s, 5 * bytes / kBytes);
  EXPECT_EQ(convolution.saved_bytes, 2 * kTokens * 6176);
}

// Chunks of 128 tokens. A token takes 8 · 128 · 128 multiplications for scores,
// 2048 · 128 for their products with x, and 2 · 2048 · 128 for states.
TEST_F(MambaCostTest, TheChunkedScanHasFourProducts) {
  const OperatorCost scan = Estimate(OpKind::kMambaScan);
  const double flops = 2 * kTokens * (131'072 + 262'144 + 524'288);
  const double state_bytes = 8 * 262'144 * 4;        // 8 chunks in fp32.
  const double score_bytes = 8 * 8 * 128 * 128 * 4;  // In 8 groups.
  const double bytes = kTokens * (2 * (5 * 2048 + 2 * 2048) + 3 * 4 * 32) +
                       4 * state_bytes + 2 * score_bytes;
  EXPECT_DOUBLE_EQ(scan.forward_s, flops / kFlops + bytes / kBytes);
  // Scores and states are computed again.
  EXPECT_DOUBLE_EQ(scan.backward_s,
                   (2 * flops + 2 * kTokens * (131'072 + 262'144)) / kFlops +
                       3 * bytes / kBytes);
  EXPECT_EQ(scan.saved_bytes, 2 * kTokens * 2048);
  EXPECT_EQ(scan.dense_parameters, 3 * 32);
}

TEST_F(MambaCostTest, TheScanGrowsWithTheSequenceAsItsTokensDo) {
  const double short_s = Estimate(OpKind::kMambaScan).forward_s;
  training_.sequence_length *= 64;
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kMambaScan).forward_s, 64 * short_s);
}

// As in Megatron-LM: heads and groups are split, and the projections exchange
// what those of attention do.
TEST_F(MambaCostTest, TensorParallelismSplitsEverythingButTheNorm) {
  const StageParallelism tp4 = {.tp_degree = 4, .sequence_parallel = true};
  EXPECT_EQ(WholeParameters({}), ParameterCount(layer_));
  EXPECT_EQ(WholeParameters(tp4) - 1024, (ParameterCount(layer_) - 1024) / 4);
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kMambaScan, tp4).forward_s,
                   Estimate(OpKind::kMambaScan).forward_s / 4);
  EXPECT_EQ(Estimate(OpKind::kMambaScan, tp4).forward_comm_s, 0);
  layer_ = TestModel(1).layers[1];
  const double column_s = Estimate(OpKind::kQkvProjection, tp4).forward_comm_s;
  const double row_s = Estimate(OpKind::kOutputProjection, tp4).forward_comm_s;
  layer_ = testing::Mamba2Layer();
  EXPECT_GT(column_s, 0);
  EXPECT_EQ(Estimate(OpKind::kMambaInProjection, tp4).forward_comm_s, column_s);
  EXPECT_EQ(Estimate(OpKind::kMambaOutProjection, tp4).forward_comm_s, row_s);
}

// Ranks exchange the projected elements for a part of the channels of the whole
// sequence.
TEST_F(MambaCostTest, ContextParallelismExchangesChannelsForTokens) {
  const StageParallelism cp2 = {.cp_degree = 2};
  const OperatorCost in = Estimate(OpKind::kMambaInProjection, cp2);
  const OperatorCost scan = Estimate(OpKind::kMambaScan, cp2);
  EXPECT_GT(in.forward_comm_s, 0);
  EXPECT_EQ(in.backward_comm_s, in.forward_comm_s);
  EXPECT_GT(scan.forward_comm_s, 0);
  EXPECT_LT(scan.forward_comm_s, in.forward_comm_s);
  EXPECT_DOUBLE_EQ(scan.forward_s - scan.forward_comm_s,
                   Estimate(OpKind::kMambaScan).forward_s / 2);
  // 8 ranks share 4 groups: each has a group of its own to read.
  layer_.mamba.groups = 4;
  EXPECT_EQ(Estimate(OpKind::kMambaConvolution, {.cp_degree = 8}).saved_bytes,
            2 * kTokens / 8 * (2 * 2048 + 2 * 8 * 128 + 32));
}

// 18 operations for each of 16 numbers of the state of 2048 channels, of a
// token, at the rate outside tensor cores.
TEST_F(MambaCostTest, TheSelectiveScanReadsAndWritesFiveTimesItsChannels) {
  layer_ = first_version_;
  const double rate = 0.6 * device_.peak_flops.fp32;
  ASSERT_GT(rate, 0);
  const OperatorCost scan = Estimate(OpKind::kMambaScan);
  EXPECT_NEAR(scan.forward_s,
              18 * 16 * 2048 * kTokens / std::min(rate, kFlops) +
                  2 * kTokens * (5 * 2048 + 32) / kBytes,
              1e-12);
  // Time steps, the output without the gate, and states of blocks.
  EXPECT_EQ(scan.saved_bytes,
            2 * 2 * kTokens * 2048 + 2 * 4 * 16 * 2048 * kTokens / 2048);
}

TEST_F(MambaCostTest, StepProjectionsAddUpOverTensorParallelRanks) {
  layer_ = first_version_;
  const StageParallelism tp4 = {.tp_degree = 4};
  const OperatorCost whole = Estimate(OpKind::kMambaStepProjection);
  const OperatorCost split = Estimate(OpKind::kMambaStepProjection, tp4);
  EXPECT_EQ(whole.forward_comm_s, 0);
  EXPECT_GT(split.forward_comm_s, 0);
  EXPECT_LT(split.forward_s - split.forward_comm_s, whole.forward_s);
}

TEST_F(MambaCostTest, NoDegreesBeatTheLeastWork) {
  for (const LayerSpec& layer : {layer_, first_version_}) {
    layer_ = layer;
    const auto least = LeastWorkOf(layer, device_, training_);
    const auto ops = OperatorsOf(layer);
    for (const StageParallelism& p :
         {StageParallelism{}, StageParallelism{.tp_degree = 4},
          StageParallelism{.tp_degree = 2, .dp_degree = 2}}) {
      for (size_t i = 0; i < ops.size(); ++i) {
        const OperatorCost cost = Estimate(ops[i], p);
        EXPECT_GE((cost.forward_s + cost.backward_s) * p.num_gpus() / 2,
                  least[i].gpu_s * (1 - 1e-12))
            << OpName(ops[i]);
      }
    }
  }
}

}  // namespace
}  // namespace tangram
