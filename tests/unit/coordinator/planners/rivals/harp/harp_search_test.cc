#include "coordinator/planners/rivals/harp/harp_search.h"

#include <vector>

#include "common/base/infinity.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

HarpShape ShapeOf(int dp, int tp, int layers, HarpLayer layer) {
  return {.dp_degree = dp,
          .tp_degree = tp,
          .layers = std::vector<HarpLayer>(layers, layer)};
}

// One host of one GPU whose layers take `layer_s`.
HarpCluster OneGpu(int layers, double layer_s) {
  return {.num_hosts = 1,
          .gpus_per_host = 1,
          .capacity_bytes = 1e3,
          .inside = {1, 0},
          .onwards = {1, 0},
          .shapes = {ShapeOf(
              1, 1, layers,
              {.pass_s = layer_s, .state_bytes = 1, .activation_bytes = 10})}};
}

std::vector<int> BordersOf(const HarpAnswer& answer) {
  std::vector<int> borders;
  for (const HarpStage& stage : answer.stages) {
    borders.push_back(stage.end_layer);
  }
  return borders;
}

std::vector<int> WarmUpsOf(const HarpAnswer& answer) {
  std::vector<int> warm_ups;
  for (const HarpStage& stage : answer.stages) {
    warm_ups.push_back(stage.warm_up);
  }
  return warm_ups;
}

TEST(SearchHarpTest, GivesTheFastClusterMoreLayers) {
  const HarpInput input{.clusters = {OneGpu(4, 3), OneGpu(4, 1)},
                        .border_bytes = {0, 0, 0, 0},
                        .num_microbatches = 10};
  const HarpAnswer answer = SearchHarp(input, nullptr);
  EXPECT_THAT(BordersOf(answer), ElementsAre(1, 4));
  EXPECT_THAT(WarmUpsOf(answer), ElementsAre(2, 1));
  EXPECT_DOUBLE_EQ(answer.predicted_s, 3 + 3 + 9 * 3);
}

TEST(SearchHarpTest, SlowTransfersWarmUpMore) {
  HarpInput input{.clusters = {OneGpu(2, 10), OneGpu(2, 10)},
                  .border_bytes = {0.9, 0},
                  .num_microbatches = 10};
  EXPECT_THAT(WarmUpsOf(SearchHarp(input, nullptr)), ElementsAre(2, 1));
  input.border_bytes[0] = 1.1;  // More than a tenth of the slowest stage.
  EXPECT_THAT(WarmUpsOf(SearchHarp(input, nullptr)), ElementsAre(3, 1));
  input.border_bytes[0] = 5.1;  // More than half of it.
  const HarpAnswer answer = SearchHarp(input, nullptr);
  EXPECT_THAT(WarmUpsOf(answer), ElementsAre(4, 1));
  EXPECT_DOUBLE_EQ(answer.predicted_s, 25.1 + 9 * 10);
  EXPECT_DOUBLE_EQ(answer.stages[0].transfer_s, 5.1);
  input.num_microbatches = 2;
  input.clamps_warm_up = true;
  EXPECT_THAT(WarmUpsOf(SearchHarp(input, nullptr)), ElementsAre(2, 1));
}

TEST(SearchHarpTest, ATransferThatIsSlowerThanEveryStageLeavesNoPlan) {
  const HarpInput input{.clusters = {OneGpu(2, 10), OneGpu(2, 10)},
                        .border_bytes = {30, 0},
                        .num_microbatches = 1};
  // The slowest stage that is possible takes 20 s.
  EXPECT_THAT(SearchHarp(input, nullptr).stages, IsEmpty());
}

TEST(SearchHarpTest, WarmUpCountsInMemory) {
  HarpInput input{.clusters = {OneGpu(2, 10), OneGpu(2, 10)},
                  .border_bytes = {5.1, 0},
                  .num_microbatches = 10};
  // One layer with four microbatches: 1 + 4 · 10 bytes.
  input.clusters[0].capacity_bytes = 41;
  EXPECT_THAT(WarmUpsOf(SearchHarp(input, nullptr)), ElementsAre(4, 1));
  // A bound of 20 s, of two layers, calls the transfer a faster one.
  input.clusters[0].capacity_bytes = 40;
  EXPECT_THAT(WarmUpsOf(SearchHarp(input, nullptr)), ElementsAre(3, 1));
  input.clusters[0].capacity_bytes = 30;
  EXPECT_THAT(SearchHarp(input, nullptr).stages, IsEmpty());
  HarpInput roomy = input;
  roomy.clusters[0].capacity_bytes = kInfinity;
  EXPECT_DOUBLE_EQ(BytesShort(input, SearchHarp(roomy, nullptr).stages), 11);
}

TEST(SearchHarpTest, PrefersTheFasterShapeAndUsesEveryGpu) {
  HarpCluster cluster{.num_hosts = 2,
                      .gpus_per_host = 2,
                      .capacity_bytes = 100,
                      .inside = {1, 0},
                      .shapes = {ShapeOf(1, 1, 4, {.pass_s = 2}),
                                 ShapeOf(1, 2, 4, {.pass_s = 1.5}),
                                 ShapeOf(2, 1, 4, {.pass_s = 1})}};
  const HarpInput input{.clusters = {cluster},
                        .border_bytes = {0, 0, 0, 0},
                        .num_microbatches = 10};
  const HarpAnswer answer = SearchHarp(input, nullptr);
  ASSERT_THAT(answer.stages, SizeIs(2));
  for (const HarpStage& stage : answer.stages) EXPECT_EQ(stage.shape, 2);
  EXPECT_DOUBLE_EQ(answer.predicted_s, 4 + 9 * 2);
  // With single GPUs alone, the first one of a host is left over.
  HarpInput single = input;
  single.clusters[0].shapes.resize(1);
  EXPECT_THAT(SearchHarp(single, nullptr).stages, IsEmpty());
}

// With one microbatch, latency alone counts: the fast cluster takes all but one
// layer, whatever the bound, and hundreds of bounds need no look.
TEST(SearchHarpTest, OneMicrobatchTakesFewPrograms) {
  constexpr int kLayers = 30;
  HarpInput input{.clusters = {OneGpu(kLayers, 3), OneGpu(kLayers, 1)},
                  .border_bytes = std::vector<double>(kLayers, 0),
                  .num_microbatches = 1};
  for (HarpCluster& cluster : input.clusters) {
    for (int l = 0; l < kLayers; ++l) {
      cluster.shapes[0].layers[l].pass_s *= 1 + 0.01 * l * l;
    }
  }
  const HarpAnswer answer = SearchHarp(input, nullptr);
  EXPECT_THAT(BordersOf(answer), ElementsAre(1, kLayers));
  EXPECT_GT(answer.num_bounds, 300);
  EXPECT_LT(answer.programs, 30);
}

TEST(SearchHarpTest, MoreHostsThanLayersLeaveNoPlan) {
  HarpCluster cluster = OneGpu(2, 1);
  cluster.num_hosts = 3;
  const HarpInput input{
      .clusters = {cluster}, .border_bytes = {0, 0}, .num_microbatches = 1};
  EXPECT_THAT(SearchHarp(input, nullptr).stages, IsEmpty());
}

TEST(SearchHarpTest, Stops) {
  const HarpInput input{.clusters = {OneGpu(2, 1)},
                        .border_bytes = {0, 0},
                        .num_microbatches = 1};
  EXPECT_TRUE(SearchHarp(input, [] { return true; }).stopped);
  EXPECT_THAT(BordersOf(SearchHarp(input, nullptr)), ElementsAre(2));
}

}  // namespace
}  // namespace tangram
