#include "coordinator/planners/whole_cluster/stand_in_island.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

// A fast node of 6 GPUs with little memory and two slow ones of 4 with more.
Cluster FastSmallAndSlowLarge() {
  DeviceSpec fast = testing::TestDevice("FAST");
  DeviceSpec slow = testing::TestDevice("SLOW");
  slow.peak_flops.fp16 = fast.peak_flops.fp16 / 2;
  slow.memory_bytes = fast.memory_bytes * 2;
  return testing::TestCluster(
      {{.name = "fast", .gpus_per_node = 6, .device = fast},
       {.name = "slow", .num_nodes = 2, .gpus_per_node = 4, .device = slow}},
      1e9);
}

TEST(StandInIslandTest, EveryGpuIsTheWeakestAndEveryLinkTheSlowest) {
  const Cluster cluster = FastSmallAndSlowLarge();
  const IslandSpec spec =
      MakeStandIn(cluster, {0, 1, 2}, NodeOrder::kAsListed).island.spec;
  EXPECT_EQ(spec.device.peak_flops.fp16,
            cluster.nodes[1].device.peak_flops.fp16);
  EXPECT_EQ(spec.device.memory_bytes, cluster.nodes[0].device.memory_bytes);
  // The three pairs of GPUs of the first node share the link between groups.
  EXPECT_DOUBLE_EQ(spec.inter_node.bandwidth_bytes_per_s, 1e9 / 3);
}

TEST(StandInIslandTest, NodesCountAsSeveralOfTheirGreatestCommonDivisor) {
  const StandIn stand_in =
      MakeStandIn(FastSmallAndSlowLarge(), {0, 1, 2}, NodeOrder::kAsListed);
  EXPECT_EQ(stand_in.island.spec.gpus_per_node, 2);
  EXPECT_EQ(stand_in.island.spec.num_nodes, 7);
  EXPECT_EQ(stand_in.gpus.size(), 14);
}

TEST(StandInIslandTest, TheFirstStagesTakeTheNodesThatAreAskedFor) {
  const Cluster cluster = FastSmallAndSlowLarge();
  EXPECT_THAT(
      MakeStandIn(cluster, {0, 1, 2}, NodeOrder::kAsListed).island.nodes,
      ElementsAre(0, 1, 2));
  EXPECT_THAT(
      MakeStandIn(cluster, {0, 1, 2}, NodeOrder::kSlowestFirst).island.nodes,
      ElementsAre(1, 2, 0));
  EXPECT_THAT(
      MakeStandIn(cluster, {1, 2, 0}, NodeOrder::kFastestFirst).island.nodes,
      ElementsAre(0, 1, 2));
}

TEST(StandInIslandTest, StagesTakeTheGpusInOrder) {
  const StandIn stand_in =
      MakeStandIn(FastSmallAndSlowLarge(), {0, 1, 2}, NodeOrder::kAsListed);
  SlicePlan plan{
      .stages = {{.plan = {.end = {1, 0}, .parallelism = {.tp_degree = 2}}},
                 {.plan = {.begin = {1, 0},
                           .end = {6, 0},
                           .parallelism = {.dp_degree = 6}}}},
      .made_by = "aceso"};
  const PipelinePlan placed = PlaceOnCluster(plan, stand_in, 4);
  ASSERT_EQ(placed.num_stages(), 2);
  EXPECT_THAT(placed.stages[0].gpus, ElementsAre(GpuId{.node = 0, .index = 0},
                                                 GpuId{.node = 0, .index = 1}));
  EXPECT_EQ(placed.stages[1].gpus.back(), (GpuId{.node = 1, .index = 1}));
  EXPECT_EQ(placed.stages[1].made_by, "aceso");
  EXPECT_EQ(placed.pipeline_microbatch_size, 4);
}

}  // namespace
}  // namespace tangram
