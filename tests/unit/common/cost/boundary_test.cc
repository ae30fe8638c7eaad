#include "common/cost/operator_cost.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::tangram::testing::TestTraining;

// Two samples of 512 tokens, hidden 1,024, 2 bytes: the residual stream.
constexpr double kResidual = 2.0 * 512 * 1024 * 2;

double Bytes(const LayerSpec& layer, int op_index) {
  return BoundaryBytes(layer, op_index, 2, TestTraining());
}

TEST(BoundaryBytesTest, OnlyTheResidualStreamCrossesItsCuts) {
  const ModelSpec model = TestModel(1);
  EXPECT_EQ(Bytes(model.layers[0], 0), 0);  // Before the embedding.
  EXPECT_EQ(Bytes(model.layers[1], 0), kResidual);
  EXPECT_EQ(Bytes(model.layers[1], 5), kResidual);  // Before the MLP's norm.
  EXPECT_EQ(Bytes(model.layers[2], 0), kResidual);
  EXPECT_EQ(Bytes(model.layers[2], 1), kResidual);  // After the final norm.
}

TEST(BoundaryBytesTest, ABranchCrossesBesideTheResidualStream) {
  const LayerSpec layer = TestModel(1).layers[1];
  EXPECT_EQ(Bytes(layer, 1), 2 * kResidual);        // Normed.
  EXPECT_EQ(Bytes(layer, 2), 4 * kResidual);        // Q, K, V.
  EXPECT_EQ(Bytes(layer, 3), 2 * kResidual);        // Context.
  EXPECT_EQ(Bytes(layer, 7), (1 + 4) * kResidual);  // MLP hidden.
  EXPECT_EQ(Bytes(layer, 9), 2 * kResidual);
}

TEST(BoundaryBytesTest, RoutedCopiesAndSharedOutputCross) {
  LayerSpec layer = TestMoeModel(1).layers[1];
  EXPECT_EQ(Bytes(layer, 8), (1 + 2) * kResidual);   // Two choices a token.
  EXPECT_EQ(Bytes(layer, 10), (1 + 8) * kResidual);  // Their ffn of 4h.
  layer.shared_expert_ffn_hidden_size = 128;
  EXPECT_EQ(Bytes(layer, 8), (1 + 2 + 1) * kResidual);
  EXPECT_EQ(Bytes(layer, 6), 2 * kResidual);  // Before they have run.
}

TEST(BoundaryBytesTest, RoutedCopiesAreAsWideAsTheExperts) {
  LayerSpec layer = TestMoeModel(1).layers[1];
  layer.expert_latent_size = 256;
  EXPECT_EQ(Bytes(layer, 6), 2 * kResidual);           // Router.
  EXPECT_EQ(Bytes(layer, 7), (1 + 0.25) * kResidual);  // Dispatch.
  EXPECT_EQ(Bytes(layer, 8), (1 + 0.5) * kResidual);   // Up.
  EXPECT_EQ(Bytes(layer, 11), (1 + 0.5) * kResidual);  // Combine.
  EXPECT_EQ(Bytes(layer, 12), 2 * kResidual);          // Residual.
}

}  // namespace
}  // namespace tangram
