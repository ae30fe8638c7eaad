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

  EXPECT_EQ(LayersLabel(model, {1, 0}, {3, kMlpBegin}), "1-3a");
  EXPECT_EQ(LayersLabel(model, {3, kMlpBegin}, {5, 0}), "3b-4");
  EXPECT_EQ(LayersLabel(model, {3, 2}, {5, 0}), "3.3-4");
  EXPECT_EQ(LayersLabel(model, {2, 0}, {3, 2}), "2-3.2");
}

TEST(LayersLabelTest, NamesPartsOfOneLayer) {
  const ModelSpec model = TestModel(4);

  EXPECT_EQ(LayersLabel(model, {3, kMlpBegin}, {4, 0}), "3b");
  EXPECT_EQ(LayersLabel(model, {3, 0}, {3, kMlpBegin}), "3a");
  EXPECT_EQ(LayersLabel(model, {3, 2}, {4, 0}), "3.3-3.10");
  EXPECT_EQ(LayersLabel(model, {3, 2}, {3, 3}), "3.3");
}

TEST(CutLabelTest, NamesWhatEndsThere) {
  const ModelSpec model = TestModel(4);

  EXPECT_EQ(CutLabel(model, {1, 0}), "emb");
  EXPECT_EQ(CutLabel(model, {4, 0}), "3");
  EXPECT_EQ(CutLabel(model, {3, kMlpBegin}), "3a");
}

TEST(GpusLabelTest, NamesWholeNodesAndPartsOfThem) {
  const Cluster cluster =
      TestCluster({{.name = "a", .num_nodes = 3, .gpus_per_node = 4}});

  EXPECT_EQ(GpusLabel(cluster, {{0, 0}, {0, 1}, {0, 2}, {0, 3}}), "a-0");
  EXPECT_EQ(GpusLabel(cluster, {{1, 0}, {1, 1}, {1, 3}}), "a-1:0-1,3");
  EXPECT_EQ(GpusLabel(cluster, {{1, 0}, {2, 0}}), "a-1..2 (2)");
  EXPECT_EQ(GpusLabel(cluster, {}), "");
}

TEST(NodesLabelTest, NamesTheFirstAndTheLast) {
  const Cluster cluster = TestCluster({{.name = "a", .num_nodes = 3}});

  EXPECT_EQ(NodesLabel(cluster, {1}), "a-1");
  EXPECT_EQ(NodesLabel(cluster, {0, 1}), "a-0..1");
  EXPECT_EQ(NodesLabel(cluster, {0, 1, 2}), "a-0..2");
}

TEST(NodesLabelTest, RepeatsOnlyWhatDiffers) {
  Cluster cluster = TestCluster({{.name = "a", .num_nodes = 3}});
  const auto label = [&](const char* first, const char* last) {
    cluster.nodes[0].name = first;
    cluster.nodes[2].name = last;
    return NodesLabel(cluster, {0, 1, 2});
  };
  EXPECT_EQ(label("a100-40-0", "a100-40-31"), "a100-40-0..31");
  EXPECT_EQ(label("a-0", "b-2"), "a-0 .. b-2");
  EXPECT_EQ(label("10", "12"), "10 .. 12");
  EXPECT_EQ(label("a-", "a-2"), "a- .. a-2");
  EXPECT_EQ(label("n1.site", "n3.site"), "n1.site .. n3.site");
  cluster.nodes[1].name = "b";
  cluster.nodes[2].name = "c";
  EXPECT_EQ(NodesLabel(cluster, {1, 2}), "b, c");
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
