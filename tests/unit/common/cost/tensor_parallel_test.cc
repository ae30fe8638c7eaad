#include "common/cost/operator_cost.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestDevice;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;

// Hidden 1,024, 16 heads of 64, ffn 4,096, sequence 512; two samples, so 1,024
// tokens and a residual stream of 2^20 elements, 2^21 bytes. 100 GB/s.
constexpr double kActivations = 1 << 20;
constexpr StageParallelism kPlanar = {.tp_degree = 4, .tp_y_degree = 2};
constexpr StageParallelism kSequence = {.tp_degree = 4,
                                        .sequence_parallel = true};

// Half of 2^21 bytes / tp_y = 2, between two ranks.
constexpr double kOuterSweepS = 0.5 * kActivations / 100e9;

class TensorParallelTest : public ::testing::Test {
 protected:
  OperatorCost Estimate(OpKind op, const StageParallelism& parallelism) {
    return EstimateOperator(layer_, op, parallelism,
                            {device_, training_, WiringOf(TestIsland(4, 4), 4),
                             /*pipeline_microbatch_size=*/2});
  }

  LayerSpec layer_ = TestModel(1).layers[1];
  DeviceSpec device_ = TestDevice();
  TrainingOptions training_ = TestTraining();
};

TEST_F(TensorParallelTest, FirstProductGathersOverXAndReducesOverY) {
  const OperatorCost up = Estimate(OpKind::kMlpUp, kPlanar);
  // Half of 2 bytes · 1,024 tokens · 4,096 / tp_x = 2 elements.
  const double inner_sweep_s = 2 * kActivations / 100e9;
  EXPECT_DOUBLE_EQ(up.forward_comm_s, kOuterSweepS + inner_sweep_s);
  // The input is gathered again behind 4.3e-5 s of compute.
  EXPECT_DOUBLE_EQ(up.backward_comm_s, kOuterSweepS + inner_sweep_s);
  // 512 columns in and 2,048 out for each of 1,024 tokens.
  EXPECT_DOUBLE_EQ(up.forward_s - up.forward_comm_s,
                   2147483648.0 / 1e14 +
                       2.0 * (1024 * 512 + 512 * 2048 + 1024 * 2048) / 1e12);
  EXPECT_EQ(up.dense_parameters, 1024 * 1024);
}

TEST_F(TensorParallelTest, SecondProductMovesWhatTheFirstDoes) {
  const OperatorCost up = Estimate(OpKind::kMlpUp, kPlanar);
  const OperatorCost down = Estimate(OpKind::kMlpDown, kPlanar);
  EXPECT_DOUBLE_EQ(down.forward_comm_s, up.forward_comm_s);
  EXPECT_DOUBLE_EQ(down.backward_comm_s, up.backward_comm_s);
  EXPECT_DOUBLE_EQ(down.forward_s, up.forward_s);
}

TEST_F(TensorParallelTest, AttentionMovesQueriesKeysAndValuesOverY) {
  // 3,072 elements between the products.
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kQkvProjection, kPlanar).forward_comm_s,
                   kOuterSweepS + 1.5 * kActivations / 100e9);
  // Four key and value heads: 1,024 + 2 · 256 elements.
  layer_.num_kv_heads = 4;
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kQkvProjection, kPlanar).forward_comm_s,
                   kOuterSweepS + 0.75 * kActivations / 100e9);
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kQkvProjection, kPlanar).dense_parameters,
                   1024 * 1536 / 4.0);
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kOutputProjection, kPlanar).forward_comm_s,
                   kOuterSweepS + 0.5 * kActivations / 100e9);
}

TEST_F(TensorParallelTest, AllActivationsAreSplitOverAllRanks) {
  for (const OpKind op : OperatorsOf(layer_)) {
    EXPECT_EQ(Estimate(op, kPlanar).saved_bytes,
              Estimate(op, kSequence).saved_bytes)
        << OpName(op);
    EXPECT_EQ(Estimate(op, kPlanar).input_bytes,
              Estimate(op, kSequence).input_bytes)
        << OpName(op);
  }
}

TEST_F(TensorParallelTest, HoldsWhatIsGatheredDuringAProduct) {
  // 2 bytes · 1,024 tokens · 4,096 / 2.
  EXPECT_EQ(Estimate(OpKind::kMlpUp, kPlanar).workspace_bytes,
            4 * kActivations);
  EXPECT_EQ(Estimate(OpKind::kMlpDown, kPlanar).workspace_bytes,
            4 * kActivations);
}

TEST_F(TensorParallelTest, NormsAddUpSumsOverY) {
  // Two fp32 sums of 1,024 / 2 tokens, all-reduced between two ranks.
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kMlpNorm, kPlanar).forward_comm_s,
                   8.0 * 512 / 100e9);
  EXPECT_EQ(Estimate(OpKind::kMlpNorm, kSequence).forward_comm_s, 0);
}

TEST_F(TensorParallelTest, VocabularyStaysInOneDimension) {
  layer_ = TestModel(1).layers[2];
  EXPECT_EQ(Estimate(OpKind::kHead, kPlanar).forward_s,
            Estimate(OpKind::kHead, kSequence).forward_s);
  EXPECT_EQ(Estimate(OpKind::kHead, kPlanar).saved_bytes,
            Estimate(OpKind::kHead, kSequence).saved_bytes);
}

TEST_F(TensorParallelTest, RanksOfYMayBeInOtherNodes) {
  StageParallelism wide = {.tp_degree = 8, .tp_y_degree = 2};
  const OperatorCost up =
      EstimateOperator(layer_, OpKind::kMlpUp, wide,
                       {device_, training_, WiringOf(TestIsland(2, 4), 8), 2});
  // x: 3/4 of 2^20 bytes in a node; y: half of 2 bytes · 1,024 · 4,096 / 4
  // between two nodes, whose 10 GB/s four groups share.
  EXPECT_DOUBLE_EQ(up.forward_comm_s,
                   0.75 * kActivations / 100e9 + kActivations / 2.5e9);
}

}  // namespace
}  // namespace tangram
