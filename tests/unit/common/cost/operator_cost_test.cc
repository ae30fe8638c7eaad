#include "common/cost/operator_cost.h"

#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestDevice;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;

// Hidden 1,024, 16 heads of 64, ffn 4,096, vocabulary 1,000; sequence 512; two
// samples a microbatch. So 1,024 tokens and 2^20 elements of residual stream.
constexpr double kElements = 1 << 20;

// A product of 1,024 columns in and `columns` out for each of `tokens`: 2 FLOPs
// a weight at 1e14 a second, and 2 bytes an element at 1e12.
double ProductSeconds(double tokens, double columns) {
  return 2 * tokens * 1024 * columns / 1e14 +
         2 * (tokens * 1024 + 1024 * columns + tokens * columns) / 1e12;
}

class OperatorCostTest : public ::testing::Test {
 protected:
  OperatorCost Estimate(OpKind op, const StageParallelism& parallelism = {}) {
    const ModelSpec model = TestModel(1);
    const int layer = op == OpKind::kEmbedding                          ? 0
                      : op == OpKind::kHead || op == OpKind::kFinalNorm ? 2
                                                                        : 1;
    return EstimateOperator(
        model.layers[layer], op, parallelism,
        {device_, training_, WiringOf(TestIsland(2, 4), parallelism.num_gpus()),
         2 * parallelism.dp_degree});
  }

  DeviceSpec device_ = TestDevice();
  TrainingOptions training_ = TestTraining();
};

TEST_F(OperatorCostTest, Fp8ProductsKeepTheirInputInOneByte) {
  training_.precision = Precision::kFp8;
  EXPECT_EQ(Estimate(OpKind::kQkvProjection).saved_bytes, kElements);
  EXPECT_EQ(Estimate(OpKind::kMlpDown).saved_bytes, 4 * kElements);
  EXPECT_EQ(Estimate(OpKind::kMlpNorm).saved_bytes, 2 * kElements);
}

TEST_F(OperatorCostTest, WithoutDropoutResidualsKeepNothing) {
  EXPECT_EQ(Estimate(OpKind::kMlpResidual).saved_bytes, kElements);
  training_.dropout = false;
  const OperatorCost residual = Estimate(OpKind::kMlpResidual);
  EXPECT_EQ(residual.saved_bytes, 0);
  EXPECT_DOUBLE_EQ(residual.forward_s, 6 * kElements / 1e12);
  EXPECT_EQ(residual.backward_s, 0);
  EXPECT_EQ(Estimate(OpKind::kEmbedding).saved_bytes, 0);
}

TEST_F(OperatorCostTest, ProjectionsGoByFlopsAndBytes) {
  const OperatorCost qkv = Estimate(OpKind::kQkvProjection);
  EXPECT_DOUBLE_EQ(qkv.forward_s, ProductSeconds(1024, 3072));
  EXPECT_DOUBLE_EQ(qkv.backward_s, 2 * qkv.forward_s);
  EXPECT_EQ(qkv.forward_comm_s, 0);
  EXPECT_EQ(qkv.dense_parameters, 1024 * 3072);
  EXPECT_EQ(qkv.expert_parameters, 0);
  EXPECT_EQ(qkv.input_bytes, 2 * kElements);
  EXPECT_EQ(qkv.saved_bytes, 2 * kElements);
}

TEST_F(OperatorCostTest, TensorParallelismSplitsProductsAndReducesResults) {
  const OperatorCost up = Estimate(OpKind::kMlpUp, {.tp_degree = 4});
  // A quarter of 4,096 columns. Backward also all-reduces 2^21 bytes over 4
  // ranks at 100 GB/s: 2·3/4·2^21 / 1e11 = 3.145728e-5.
  EXPECT_DOUBLE_EQ(up.forward_s, ProductSeconds(1024, 1024));
  EXPECT_DOUBLE_EQ(up.backward_comm_s, 3.145728e-5);
  EXPECT_DOUBLE_EQ(up.backward_s, 2 * up.forward_s + 3.145728e-5);
  EXPECT_EQ(up.dense_parameters, 1024 * 1024);

  const OperatorCost down = Estimate(OpKind::kMlpDown, {.tp_degree = 4});
  EXPECT_DOUBLE_EQ(down.forward_comm_s, 3.145728e-5);
  EXPECT_EQ(down.backward_comm_s, 0);
}

TEST_F(OperatorCostTest, TheSlowestHostOfManyRanksCounts) {
  device_.efficiency.host_launch_s = 1e-5;
  const double alone_s = Estimate(OpKind::kMlpUp).forward_host_s;
  const OperatorCost few = Estimate(OpKind::kMlpUp, {.tp_degree = 4});
  const OperatorCost many = Estimate(OpKind::kMlpUp, {.tp_degree = 8});
  EXPECT_GT(alone_s, 0);
  EXPECT_DOUBLE_EQ(few.forward_host_s, alone_s);
  EXPECT_DOUBLE_EQ(many.forward_host_s, 1.2 * alone_s);
  EXPECT_DOUBLE_EQ(many.backward_host_s, 1.2 * alone_s);
}

TEST_F(OperatorCostTest, SequenceParallelismMovesTheSameBytes) {
  const StageParallelism p = {.tp_degree = 4, .sequence_parallel = true};
  const double sweep_s = 3.145728e-5 / 2;
  const OperatorCost up = Estimate(OpKind::kMlpUp, p);
  const OperatorCost down = Estimate(OpKind::kMlpDown, p);
  EXPECT_DOUBLE_EQ(up.forward_comm_s, sweep_s);
  // The second gather hides behind the 4.3e-5 s of compute.
  EXPECT_DOUBLE_EQ(up.backward_comm_s, sweep_s);
  EXPECT_DOUBLE_EQ(down.forward_comm_s, sweep_s);
  EXPECT_DOUBLE_EQ(down.backward_comm_s, sweep_s);
}

TEST_F(OperatorCostTest, ElementwiseOperatorsGoByBytes) {
  // Norm: 2 + 2 bytes an element at 1e12 a second; with a tp of 4 the same,
  // with sequence parallelism a quarter.
  const double norm_s = 4 * kElements / 1e12;
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kMlpNorm).forward_s, norm_s);
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kMlpNorm, {.tp_degree = 4}).forward_s,
                   norm_s);
  EXPECT_DOUBLE_EQ(
      Estimate(OpKind::kMlpNorm, {.tp_degree = 4, .sequence_parallel = true})
          .forward_s,
      norm_s / 4);
  // Residual: 2 + 2 read, 2 written, 1 of mask, which is what is kept.
  const OperatorCost residual = Estimate(OpKind::kMlpResidual);
  EXPECT_DOUBLE_EQ(residual.forward_s, 7 * kElements / 1e12);
  EXPECT_EQ(residual.saved_bytes, kElements);
}

TEST_F(OperatorCostTest, HeadKeepsItsLogitsInFp32) {
  const OperatorCost head = Estimate(OpKind::kHead);
  // The loss moves 2 + 16 bytes a logit, and 2 + 12 backward.
  const double logits = 1024.0 * 1000;
  const double product_s = ProductSeconds(1024, 1000);
  EXPECT_DOUBLE_EQ(head.forward_s, product_s + 18 * logits / 1e12);
  EXPECT_DOUBLE_EQ(head.backward_s, 2 * product_s + 14 * logits / 1e12);
  EXPECT_EQ(head.saved_bytes, 2 * kElements + 4 * logits);
  EXPECT_EQ(head.workspace_bytes, 2 * logits);
  EXPECT_EQ(Estimate(OpKind::kHead, {.tp_degree = 2}).workspace_bytes, logits);
}

TEST_F(OperatorCostTest, AFusedLossKeepsTheLogitsAlone) {
  training_.fused_loss = true;
  const OperatorCost head = Estimate(OpKind::kHead);
  const double logits = 1024.0 * 1000;
  EXPECT_EQ(head.saved_bytes, 2 * kElements + 2 * logits);
  EXPECT_EQ(head.workspace_bytes, 2 * logits);
  // It reads the 16-bit logits twice, and writes them once.
  EXPECT_DOUBLE_EQ(head.forward_s,
                   ProductSeconds(1024, 1000) + 6 * logits / 1e12);
}

TEST_F(OperatorCostTest, Fp8ProductsCastWhatTheyRead) {
  device_.peak_flops.bf16 = 1e14;
  training_.precision = Precision::kFp8;
  device_.peak_flops.fp8 = 0;
  const OperatorCost bf16 = Estimate(OpKind::kMlpUp);
  device_.peak_flops.fp8 = 2e14;
  const OperatorCost fp8 = Estimate(OpKind::kMlpUp);
  // Half of the arithmetic, but 3 bytes for each of 2^20 elements of input and,
  // backward, 4 times as many of the output's gradient.
  const double saved_s = 4096.0 * 2 * kElements / 2e14;
  EXPECT_DOUBLE_EQ(fp8.forward_s,
                   bf16.forward_s - saved_s + 3 * kElements / 1e12);
  EXPECT_DOUBLE_EQ(fp8.backward_s,
                   bf16.backward_s - 2 * saved_s + 12 * kElements / 1e12);
}

TEST_F(OperatorCostTest, VocabularyIsSharedByTensorParallelRanks) {
  EXPECT_EQ(Estimate(OpKind::kEmbedding).dense_parameters, 1024 * 1000);
  const OperatorCost split = Estimate(OpKind::kEmbedding, {.tp_degree = 4});
  EXPECT_EQ(split.dense_parameters, 256 * 1000);
  EXPECT_DOUBLE_EQ(split.forward_comm_s, 3.145728e-5);
  // A mask byte an element, which sequence parallelism shares.
  EXPECT_EQ(split.saved_bytes, kElements);
  EXPECT_EQ(
      Estimate(OpKind::kEmbedding, {.tp_degree = 4, .sequence_parallel = true})
          .saved_bytes,
      kElements / 4);
}

TEST_F(OperatorCostTest, ReplicasAndContextRanksShareTheTokens) {
  const OperatorCost one = Estimate(OpKind::kMlpUp);
  // The builder keeps two samples a replica.
  EXPECT_DOUBLE_EQ(Estimate(OpKind::kMlpUp, {.dp_degree = 2}).forward_s,
                   one.forward_s);
  const OperatorCost half = Estimate(OpKind::kMlpUp, {.cp_degree = 2});
  EXPECT_DOUBLE_EQ(one.forward_s, ProductSeconds(1024, 4096));
  EXPECT_DOUBLE_EQ(half.forward_s, ProductSeconds(512, 4096));
  EXPECT_DOUBLE_EQ(half.saved_bytes, one.saved_bytes / 2);
}

TEST_F(OperatorCostTest, MeasurementsReplaceComputeButNotCollectives) {
  const StageParallelism p = {.tp_degree = 4};
  const ModelSpec model = TestModel(1);
  device_.measured = {
      {.key = MeasurementKey(model.layers[1], OpKind::kMlpUp, p, 2, training_),
       .forward_s = 1,
       .backward_s = 3}};
  const OperatorCost up = Estimate(OpKind::kMlpUp, p);
  EXPECT_TRUE(up.measured);
  EXPECT_DOUBLE_EQ(up.forward_s, 1);
  EXPECT_DOUBLE_EQ(up.backward_s, 3 + 3.145728e-5);
  EXPECT_FALSE(Estimate(OpKind::kMlpUp, {.tp_degree = 2}).measured);
  EXPECT_FALSE(Estimate(OpKind::kMlpDown, p).measured);
}

TEST_F(OperatorCostTest, Bf16TakesTheTimeOfFp32WhereThereIsNoBf16) {
  const double fp16_s = Estimate(OpKind::kMlpUp).forward_s;
  const double memory_s =
      ProductSeconds(1024, 4096) - 2.0 * 1024 * 1024 * 4096 / 1e14;
  device_.peak_flops.fp32 = device_.peak_flops.fp16 / 8;
  device_.peak_flops.bf16 = 0;
  training_.precision = Precision::kBf16;
  EXPECT_NEAR(Estimate(OpKind::kMlpUp).forward_s - memory_s,
              8 * (fp16_s - memory_s), 1e-15);
}

}  // namespace
}  // namespace tangram
