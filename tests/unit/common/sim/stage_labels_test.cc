#include "common/sim/stage_labels.h"

#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestCluster;
using ::tangram::testing::TestModel;

// Operators of a dense layer: norm, qkv, core, output, residual | norm, up,
// activation, down, residual. The cut between attention and MLP is 5.
constexpr int kMlpBegin = 5;
constexpr int kNumOperators = 10;
constexpr int kAttentionCore = 2;

TEST(LayersLabelTest, CountsTransformerLayersFromOne) {
  const ModelSpec model = TestModel(4);

  EXPECT_EQ(LayersLabel(model, {0, 0}, {6, 0}), "emb-head");
  EXPECT_EQ(LayersLabel(model, {0, 0}, {3, 0}), "emb-2");
  EXPECT_EQ(LayersLabel(model, {3, 0}, {4, 0}), "3");
}

TEST(LayersLabelTest, NamesCutsInsideLayers) {
  const ModelSpec model = TestModel(4);

  EXPECT_EQ(LayersLabel(model, {1, 0}, {3, kMlpBegin}), "1-3.5");
  EXPECT_EQ(LayersLabel(model, {3, kMlpBegin}, {5, 0}), "3.5-4");
  EXPECT_EQ(LayersLabel(model, {3, 2}, {5, 0}), "3+2-4");
}

TEST(CutLabelTest, NamesWhatEndsThere) {
  const ModelSpec model = TestModel(4);

  EXPECT_EQ(CutLabel(model, {1, 0}), "emb");
  EXPECT_EQ(CutLabel(model, {4, 0}), "3");
  EXPECT_EQ(CutLabel(model, {3, kMlpBegin}), "3.5");
}

TEST(GpusLabelTest, NamesWholeNodesAndPartsOfThem) {
  const Cluster cluster =
      TestCluster({{.name = "a", .num_nodes = 3, .gpus_per_node = 4}});

  EXPECT_EQ(GpusLabel(cluster, {{0, 0}, {0, 1}, {0, 2}, {0, 3}}), "a-0");
  EXPECT_EQ(GpusLabel(cluster, {{1, 0}, {1, 1}, {1, 3}}), "a-1:0-1,3");
  EXPECT_EQ(GpusLabel(cluster, {{1, 0}, {2, 0}}), "a-1..a-2 (2)");
  EXPECT_EQ(GpusLabel(cluster, {}), "");
}

TEST(NodesLabelTest, ListsTwoAndRangesMore) {
  const Cluster cluster = TestCluster({{.name = "a", .num_nodes = 3}});

  EXPECT_EQ(NodesLabel(cluster, {1}), "a-1");
  EXPECT_EQ(NodesLabel(cluster, {0, 1}), "a-0, a-1");
  EXPECT_EQ(NodesLabel(cluster, {0, 1, 2}), "a-0 .. a-2");
}

StagePlan LayersOneAndTwo(OpMask first, OpMask second) {
  return {.begin = {1, 0},
          .end = {3, 0},
          .recompute = {{.num_layers = 1, .mask = first},
                        {.num_layers = 1, .mask = second}}};
}

TEST(RecomputeLabelTest, NamesTheUsualChoices) {
  const ModelSpec model = TestModel(4);
  constexpr OpMask kAll = (1u << kNumOperators) - 1;
  constexpr OpMask kAttention = 1u << kAttentionCore;

  EXPECT_EQ(RecomputeLabel(model, LayersOneAndTwo(0, 0)), "");
  EXPECT_EQ(RecomputeLabel(model, LayersOneAndTwo(kAll, kAll)), "full");
  EXPECT_EQ(RecomputeLabel(model, LayersOneAndTwo(kAttention, kAttention)),
            "attn");
  // 1 of 20 operators.
  EXPECT_EQ(RecomputeLabel(model, LayersOneAndTwo(kAttention, 0)), "5 %");
}

TEST(RecomputeLabelTest, IgnoresOperatorsOutsideTheCuts) {
  const ModelSpec model = TestModel(4);
  const StagePlan mlp_only = {
      .begin = {1, kMlpBegin},
      .end = {2, 0},
      .recompute = {{.num_layers = 1, .mask = 0b11111'00011}}};

  EXPECT_EQ(RecomputeLabel(model, mlp_only), "full");
}

}  // namespace
}  // namespace tangram
