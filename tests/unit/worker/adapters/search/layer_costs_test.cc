#include "worker/adapters/search/layer_costs.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;

constexpr StageParallelism kTwoByTwo = {.tp_degree = 2, .dp_degree = 2};

TEST(LayerCostsTest, KeepsWhatTheModelSays) {
  const LayerSpec layer = TestModel(1).layers[1];
  const IslandSpec island = TestIsland(1, 4);
  const TrainingOptions training = TestTraining(32);
  const int num_ops = static_cast<int>(OperatorsOf(layer).size());
  LayerCosts costs;
  for (const int microbatch : {4, 8, 4}) {
    const StageEnvironment environment = {
        .device = island.device,
        .training = training,
        .wiring = WiringOf(island, 4),
        .pipeline_microbatch_size = microbatch};
    LayerCosts::Site* const site = costs.SiteOf(island, training, microbatch);
    ASSERT_NE(site, nullptr);
    for (const OpMask mask : {kRecomputeNone, WholeLayerMask(layer)}) {
      const LayerCost expected =
          EstimateLayer(layer, {0, num_ops, mask}, kTwoByTwo, environment);
      for (int time = 0; time < 2; ++time) {
        const LayerCost cost =
            site->Cost(site->KindOf(layer), mask, kTwoByTwo, environment);
        EXPECT_EQ(cost.forward_s, expected.forward_s);
        EXPECT_EQ(cost.backward_s, expected.backward_s);
        EXPECT_EQ(cost.activation_bytes, expected.activation_bytes);
      }
    }
  }
}

TEST(LayerCostsTest, IslandsThatDifferInLimitsAloneAreOneSite) {
  LayerCosts costs;
  IslandSpec limited = TestIsland(2, 4);
  limited.limits.tp_degree = 2;
  const auto* const site = costs.SiteOf(TestIsland(2, 4), TestTraining(32), 4);

  EXPECT_EQ(costs.SiteOf(limited, TestTraining(32), 4), site);
  EXPECT_NE(costs.SiteOf(TestIsland(1, 4), TestTraining(32), 4), site);
  EXPECT_NE(costs.SiteOf(TestIsland(2, 4), TestTraining(64), 4), site);
  EXPECT_NE(costs.SiteOf(TestIsland(2, 4), TestTraining(32), 8), site);
}

TEST(LayerCostsTest, KeepsNothingWhereThereAreMeasurements) {
  LayerCosts costs;
  IslandSpec island = TestIsland(1, 4);
  island.device.measured = std::vector<MeasuredOperator>{{.key = 1}};

  EXPECT_EQ(costs.SiteOf(island, TestTraining(32), 4), nullptr);
}

TEST(LayerCostsTest, FrontiersDifferInWhatIsRecomputed) {
  LayerCosts costs;
  LayerCosts::Site& site = *costs.SiteOf(TestIsland(1, 4), TestTraining(32), 4);
  const int kind = site.KindOf(TestModel(1).layers[1]);
  const LayerCosts::Site::Masks masks = {0, 1, 3};
  LayerFrontier* const frontier = &site.FrontierOf(kind, masks, 2, kTwoByTwo);

  EXPECT_EQ(&site.FrontierOf(kind, masks, 2, kTwoByTwo), frontier);
  EXPECT_NE(&site.FrontierOf(kind, masks, 3, kTwoByTwo), frontier);
  EXPECT_NE(&site.FrontierOf(kind, {0, 0, 3}, 2, kTwoByTwo), frontier);
  EXPECT_NE(&site.FrontierOf(kind, masks, 2, {.tp_degree = 4}), frontier);
}

}  // namespace
}  // namespace tangram
