#include "coordinator/planners/rivals/megatron_uniform/uniform_strategies.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TestCluster;
using testing::TestDevice;
using testing::TestModel;
using ::testing::UnorderedElementsAre;

using Degrees = std::tuple<int, int, int>;  // tp, dp, stages

std::set<Degrees> DegreesOf(const std::vector<UniformStrategy>& strategies) {
  std::set<Degrees> degrees;
  for (const UniformStrategy& s : strategies) {
    degrees.insert({s.tp_degree, s.dp_degree, s.num_stages});
  }
  return degrees;
}

TEST(UniformStrategiesTest, UsesEveryGpuInEqualStages) {
  // Four stages do not divide the six transformer layers, but all eight.
  EXPECT_THAT(
      DegreesOf(UniformStrategies(TestModel(6),
                                  TestCluster({{"a", 2, 2, TestDevice()}}), 8)),
      UnorderedElementsAre(Degrees(1, 4, 1), Degrees(1, 2, 2), Degrees(1, 1, 4),
                           Degrees(2, 2, 1), Degrees(2, 1, 2)));
}

TEST(UniformStrategiesTest, TriesAllMicrobatchesAndRecomputation) {
  const std::vector<UniformStrategy> strategies = UniformStrategies(
      TestModel(6), TestCluster({{"a", 1, 1, TestDevice()}}), 6);
  EXPECT_EQ(strategies.size(), 4u * 3);  // 1, 2, 3, 6.
  EXPECT_EQ(
      std::count(strategies.begin(), strategies.end(),
                 UniformStrategy{.samples = 3,
                                 .recompute = LayerRecompute::kWholeLayer}),
      1);
}

TEST(UniformStrategiesTest, UnlikeNodesShareTheirCommonDegree) {
  // Nodes of 4 and 2: tp 4 would cross a node.
  EXPECT_THAT(
      DegreesOf(UniformStrategies(
          TestModel(6),
          TestCluster({{"a", 1, 4, TestDevice()}, {"b", 1, 2, TestDevice()}}),
          1)),
      UnorderedElementsAre(Degrees(1, 1, 6), Degrees(2, 1, 3)));
}

TEST(UniformStrategiesTest, UnequalStagesAreTheLastResort) {
  // Five GPUs: no five stages divide six layers, no replicas divide the batch.
  EXPECT_THAT(DegreesOf(UniformStrategies(
                  TestModel(6), TestCluster({{"a", 5, 1, TestDevice()}}), 4)),
              UnorderedElementsAre(Degrees(1, 1, 5)));
}

TEST(UniformStrategiesTest, EmbeddingAndHeadCountIfTheyMust) {
  const std::vector<UniformStrategy> strategies = UniformStrategies(
      TestModel(6), TestCluster({{"a", 7, 1, TestDevice()}}), 4);
  EXPECT_THAT(DegreesOf(strategies), UnorderedElementsAre(Degrees(1, 1, 7)));
  EXPECT_TRUE(strategies.front().counts_ends);
}

TEST(UniformStrategiesTest, HasNoneForMoreStagesThanLayers) {
  EXPECT_THAT(UniformStrategies(TestModel(6),
                                TestCluster({{"a", 9, 1, TestDevice()}}), 4),
              IsEmpty());
}

TEST(UniformBoundsTest, EmbeddingAndHeadJoinTheEnds) {
  EXPECT_THAT(UniformBounds(8, {.num_stages = 1}), ElementsAre(0, 8));
  EXPECT_THAT(UniformBounds(8, {.num_stages = 3}), ElementsAre(0, 3, 5, 8));
  EXPECT_THAT(UniformBounds(8, {.num_stages = 4}), ElementsAre(0, 3, 5, 6, 8));
  EXPECT_THAT(UniformBounds(8, {.num_stages = 3, .counts_ends = true}),
              ElementsAre(0, 3, 6, 8));
}

}  // namespace
}  // namespace tangram
