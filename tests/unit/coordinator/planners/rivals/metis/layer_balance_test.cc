#include "coordinator/planners/rivals/metis/layer_balance.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

TEST(LayerBalanceTest, OneStageHasAllLayers) {
  LayerBalancer balancer({{0.25, 0.25, 0.25, 0.25}}, true);
  EXPECT_THAT(balancer.Split({{1.0}}), ElementsAre(0, 4));
}

TEST(LayerBalanceTest, EqualStagesHaveEqualParts) {
  LayerBalancer balancer({{0.25, 0.25, 0.25, 0.25}}, true);
  EXPECT_THAT(balancer.Split({{0.5, 0.5}}), ElementsAre(0, 2, 4));
}

TEST(LayerBalanceTest, FastStagesHaveMoreLayers) {
  LayerBalancer balancer({{0.25, 0.25, 0.25, 0.25}}, true);
  EXPECT_THAT(balancer.Split({{0.75, 0.25}}), ElementsAre(0, 3, 4));
  EXPECT_THAT(balancer.Split({{0.25, 0.75}}), ElementsAre(0, 1, 4));
}

// Three stages of a ninth have two or three units each of the first layer.
TEST(LayerBalanceTest, ALayerInThreePartsIsLostUnlessKept) {
  const std::vector<double> weights(3, 1.0 / 3);
  const std::vector<double> speeds = {1.0 / 8, 1.0 / 8, 1.0 / 8, 5.0 / 8};
  LayerBalancer loses(weights, /*keep_layers=*/false);
  LayerBalancer keeps(weights, /*keep_layers=*/true);
  EXPECT_LT(loses.Split(speeds).back(), 3);
  EXPECT_EQ(keeps.Split(speeds).back(), 3);
}

}  // namespace
}  // namespace tangram
