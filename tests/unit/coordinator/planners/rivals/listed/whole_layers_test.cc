#include "coordinator/planners/rivals/listed/whole_layers.h"

#include "common/domain/recompute_masks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

TEST(WholeLayersTest, OnlyTransformerLayersRunAgain) {
  const ModelSpec model = testing::TestModel(2);
  const OpMask full = WholeLayerMask(model.layers[1]);
  const OpMask attention = AttentionCoreMask(model.layers[1]);
  EXPECT_THAT(
      WholeLayers(model, 0, 4, {}, LayerRecompute::kWholeLayer).recompute,
      ElementsAre(RecomputeRun{1, kRecomputeNone}, RecomputeRun{2, full},
                  RecomputeRun{1, kRecomputeNone}));
  EXPECT_THAT(
      WholeLayers(model, 0, 2, {}, LayerRecompute::kAttentionCore).recompute,
      ElementsAre(RecomputeRun{1, kRecomputeNone}, RecomputeRun{1, attention}));
  EXPECT_THAT(WholeLayers(model, 1, 3, {}, LayerRecompute::kNone).recompute,
              ElementsAre(RecomputeRun{2, kRecomputeNone}));
}

TEST(WholeLayersTest, CutsBetweenLayers) {
  const StagePlan stage = WholeLayers(testing::TestModel(2), 1, 3,
                                      {.tp_degree = 2}, LayerRecompute::kNone);
  EXPECT_EQ(stage.begin, (OperatorCut{1, 0}));
  EXPECT_EQ(stage.end, (OperatorCut{3, 0}));
  EXPECT_EQ(stage.parallelism.tp_degree, 2);
}

TEST(GpusInOrderTest, FollowsTheNodes) {
  const Cluster cluster = testing::TestCluster(
      {{"a", 1, 2, testing::TestDevice()}, {"b", 1, 1, testing::TestDevice()}});
  EXPECT_THAT(GpusInOrder(cluster),
              ElementsAre(GpuId{0, 0}, GpuId{0, 1}, GpuId{1, 0}));
}

}  // namespace
}  // namespace tangram
