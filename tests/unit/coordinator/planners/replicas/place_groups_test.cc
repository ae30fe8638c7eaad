#include "coordinator/planners/replicas/place_groups.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

TEST(PlaceGroupsTest, EachGroupTakesTheNextNodesOfItsIslands) {
  std::vector<Island> islands(2);
  islands[0].nodes = {4, 7, 9};
  islands[1].nodes = {2, 3};
  // A stage on a node of island 0, then one on a node of island 1.
  PipelinePlan both;
  both.stages = {{.gpus = {{4, 0}, {4, 1}}, .island = 0},
                 {.gpus = {{2, 0}}, .island = 1}};
  PipelinePlan alone;
  alone.stages = {{.gpus = {{4, 0}, {7, 3}}, .island = 0}};
  const NodeGroup first = {1, 1};
  const NodeGroup second = {2, 0};

  const ReplicatedPlan plan = PlaceGroups(
      islands,
      std::vector<PlacedGroup>{{&first, &both, 3}, {&second, &alone, 5}},
      ReplicaSync::kZero1);

  ASSERT_EQ(plan.pipelines.size(), 2u);
  EXPECT_EQ(plan.pipelines[0].plan, both);
  EXPECT_EQ(plan.pipelines[0].num_microbatches, 3);
  EXPECT_EQ(plan.pipelines[0].state_fraction, 0.5);
  EXPECT_EQ(plan.pipelines[1].num_microbatches, 5);
  EXPECT_THAT(plan.pipelines[1].plan.stages[0].gpus,
              ElementsAre(GpuId{7, 0}, GpuId{9, 3}));
  EXPECT_EQ(plan.pipelines[1].plan.stages[0].island, 0);
}

TEST(PlaceGroupsTest, AllReduceHasNoFractionsOfState) {
  std::vector<Island> islands(1);
  islands[0].nodes = {0};
  PipelinePlan plan;
  plan.stages = {{.gpus = {{0, 0}}, .island = 0}};
  const NodeGroup group = {1};
  EXPECT_EQ(PlaceGroups(islands, std::vector<PlacedGroup>{{&group, &plan, 1}},
                        ReplicaSync::kAllReduce)
                .pipelines[0]
                .state_fraction,
            0);
}

}  // namespace
}  // namespace tangram
