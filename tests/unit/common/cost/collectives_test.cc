#include "common/cost/collectives.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestIsland;

// 100 GB/s inside a node, 10 GB/s between nodes.
StageWiring Wiring(int num_nodes, int gpus_per_node) {
  return WiringOf(TestIsland(num_nodes, gpus_per_node),
                  num_nodes * gpus_per_node);
}

TEST(WiringOfTest, SmallStageHasOnlyItsOwnGpusInTheNode) {
  EXPECT_EQ(WiringOf(TestIsland(2, 8), 4).gpus_per_node, 4);
  EXPECT_EQ(WiringOf(TestIsland(2, 8), 16).gpus_per_node, 8);
}

TEST(GroupOfTest, PlacesRanksByStride) {
  const StageWiring wiring = Wiring(2, 4);
  const CommGroup tp = GroupOf(4, 1, wiring);
  EXPECT_EQ(tp.ranks_per_node, 4);
  EXPECT_EQ(tp.groups_per_node, 1);
  EXPECT_TRUE(tp.adjacent);
  // dp 4 over tp 2 in nodes of 4: two ranks a node, two such groups.
  const CommGroup dp = GroupOf(4, 2, wiring);
  EXPECT_EQ(dp.ranks_per_node, 2);
  EXPECT_EQ(dp.groups_per_node, 2);
  EXPECT_FALSE(dp.adjacent);
  // dp 2 over tp 4: one rank a node, four groups.
  const CommGroup across = GroupOf(2, 4, wiring);
  EXPECT_EQ(across.ranks_per_node, 1);
  EXPECT_EQ(across.groups_per_node, 4);
}

TEST(CollectivesTest, OneRankIsFree) {
  const StageWiring wiring = Wiring(1, 4);
  EXPECT_EQ(AllReduceSeconds(1e9, GroupOf(1, 1, wiring), wiring), 0);
  EXPECT_EQ(AllToAllSeconds(1e9, GroupOf(1, 1, wiring), wiring), 0);
}

TEST(CollectivesTest, RingInsideANode) {
  const StageWiring wiring = Wiring(1, 4);
  const CommGroup group = GroupOf(4, 1, wiring);
  // 2·3/4·1e9 / 100e9 and half of it.
  EXPECT_DOUBLE_EQ(AllReduceSeconds(1e9, group, wiring), 0.015);
  EXPECT_DOUBLE_EQ(AllGatherSeconds(1e9, group, wiring), 0.0075);
  EXPECT_DOUBLE_EQ(ReduceScatterSeconds(1e9, group, wiring), 0.0075);
  EXPECT_DOUBLE_EQ(AllToAllSeconds(1e9, group, wiring), 0.0075);
}

TEST(CollectivesTest, GroupsShareTheNetworkOfANode) {
  const StageWiring wiring = Wiring(2, 4);
  // Four groups of 2 ranks, 10/4 GB/s each: 2·1/2·1e9 / 2.5e9.
  EXPECT_DOUBLE_EQ(AllReduceSeconds(1e9, GroupOf(2, 4, wiring), wiring), 0.4);
  // One group of 8 has the 10 GB/s for itself: 2·7/8·1e9 / 10e9.
  EXPECT_DOUBLE_EQ(AllReduceSeconds(1e9, GroupOf(8, 1, wiring), wiring), 0.175);
}

TEST(CollectivesTest, OneGpuCannotDriveTheWholeNetwork) {
  StageWiring wiring = Wiring(2, 4);
  wiring.inter_node.pair_bandwidth_bytes_per_s = 1e9;
  // Two ranks a node drive 2 GB/s of the group's share of 5: 2·3/4·1e9 / 2e9.
  EXPECT_DOUBLE_EQ(AllReduceSeconds(1e9, GroupOf(4, 2, wiring), wiring), 0.75);
}

TEST(CollectivesTest, AllToAllSendsOnlyWhatLeavesTheNodeOverTheNetwork) {
  const StageWiring wiring = Wiring(2, 4);
  // 4 of 8 shares leave; each of the node's 4 ranks gets 10/4 GB/s:
  // 4/8·1e9 / 2.5e9. The rest, 3/8·1e9 / 100e9, is faster.
  EXPECT_DOUBLE_EQ(AllToAllSeconds(1e9, GroupOf(8, 1, wiring), wiring), 0.2);
}

TEST(CollectivesTest, NeighboursUseTheirBridge) {
  StageWiring wiring = Wiring(1, 4);
  wiring.intra_node.pair_bandwidth_bytes_per_s = 400e9;
  EXPECT_DOUBLE_EQ(AllGatherSeconds(8e9, GroupOf(2, 1, wiring), wiring), 0.01);
  // Ranks 0 and 2 have no bridge.
  EXPECT_DOUBLE_EQ(AllGatherSeconds(8e9, GroupOf(2, 2, wiring), wiring), 0.04);
}

TEST(CollectivesTest, LatencyGrowsWithTheDepthOfATree) {
  StageWiring wiring = Wiring(2, 4);
  wiring.intra_node.latency_s = 1;
  wiring.inter_node.latency_s = 10;
  constexpr double kTiny = 1e-9;
  EXPECT_NEAR(AllReduceSeconds(1, GroupOf(4, 1, wiring), wiring), 2 * 2, kTiny);
  EXPECT_NEAR(AllGatherSeconds(1, GroupOf(3, 1, wiring), wiring), 2, kTiny);
  EXPECT_NEAR(AllGatherSeconds(1, GroupOf(8, 1, wiring), wiring), 30, 1e-8);
}

TEST(TransferSecondsTest, InsideANodeFlowsAddUp) {
  Link link = {.bandwidth_bytes_per_s = 10e9,
               .pair_bandwidth_bytes_per_s = 20e9,
               .latency_s = 0.5};
  // One flow has the pair rate: 0.5 + 60/20; four flows 10 each.
  EXPECT_DOUBLE_EQ(
      TransferSeconds(60e9, {.link = link, .same_node = true, .flows = 1}),
      3.5);
  EXPECT_DOUBLE_EQ(
      TransferSeconds(60e9, {.link = link, .same_node = true, .flows = 4}),
      2.0);
  EXPECT_EQ(TransferSeconds(0, {.link = link, .same_node = true}), 0);
}

TEST(TransferSecondsTest, BetweenNodesTheNetworkIsShared) {
  const Link link = {.bandwidth_bytes_per_s = 10e9,
                     .pair_bandwidth_bytes_per_s = 4e9};
  EXPECT_DOUBLE_EQ(TransferSeconds(20e9, {.link = link, .flows = 2}), 2.5);
  EXPECT_DOUBLE_EQ(TransferSeconds(20e9, {.link = link, .flows = 4}), 2.0);
  EXPECT_DOUBLE_EQ(
      TransferSeconds(20e9, {.link = link, .flows = 8, .node_pairs = 2}), 1.0);
}

TEST(PathWithinTest, TellsNodesApart) {
  const IslandSpec island = TestIsland(4, 4);
  const TransferPath inside = PathWithin(island, 0, 2, 2, 1);
  EXPECT_TRUE(inside.same_node);
  EXPECT_EQ(inside.flows, 1);
  EXPECT_EQ(inside.link, island.intra_node);
  const TransferPath between = PathWithin(island, 2, 2, 4, 4);
  EXPECT_FALSE(between.same_node);
  EXPECT_EQ(between.flows, 2);
  EXPECT_EQ(between.node_pairs, 1);
  const TransferPath wide = PathWithin(island, 0, 8, 8, 8);
  EXPECT_EQ(wide.flows, 8);
  EXPECT_EQ(wide.node_pairs, 2);
  EXPECT_EQ(wide.link, island.inter_node);
}

TEST(MeasuredCollectiveTest, OverridesTheModelForItsRanksAndNodes) {
  const StageWiring plain = Wiring(2, 4);
  const std::vector<MeasuredCollective> tables = {
      {.op = CollectiveOp::kAllReduce, .ranks = 4, .points = {{1e6, 0.5}}},
      {.op = CollectiveOp::kAllReduce,
       .ranks = 8,
       .nodes = 2,
       .points = {{1e6, 0.7}}}};
  StageWiring measured = plain;
  measured.measured = tables;

  const CommGroup in_node = GroupOf(4, 1, plain);
  EXPECT_DOUBLE_EQ(AllReduceSeconds(1e6, in_node, measured), 0.5);
  EXPECT_DOUBLE_EQ(AllReduceSeconds(4e6, in_node, measured), 2);
  EXPECT_EQ(AllReduceSeconds(0, in_node, measured), 0);
  EXPECT_EQ(AllGatherSeconds(1e6, in_node, measured),
            AllGatherSeconds(1e6, in_node, plain));
  const CommGroup pair = GroupOf(2, 1, plain);
  EXPECT_EQ(AllReduceSeconds(1e6, pair, measured),
            AllReduceSeconds(1e6, pair, plain));
  EXPECT_DOUBLE_EQ(AllReduceSeconds(1e6, GroupOf(8, 1, plain), measured), 0.7);
}

TEST(MeasuredCollectiveTest, OfSeveralNodesNeedsTheNetworkForItself) {
  // Four groups of two ranks, one in each node.
  const StageWiring plain = Wiring(2, 4);
  const CommGroup sharing = GroupOf(2, 4, plain);
  const std::vector<MeasuredCollective> tables = {
      {.op = CollectiveOp::kAllReduce,
       .ranks = 2,
       .nodes = 2,
       .points = {{1e6, 0.7}}}};
  StageWiring measured = plain;
  measured.measured = tables;
  EXPECT_EQ(AllReduceSeconds(1e6, sharing, measured),
            AllReduceSeconds(1e6, sharing, plain));
}

TEST(MeasuredCollectiveTest, OfTwoGpusOverridesTransfersInsideANode) {
  const std::vector<MeasuredCollective> tables = {
      {.op = CollectiveOp::kPointToPoint, .ranks = 2, .points = {{1e6, 0.5}}}};
  TransferPath path = {.link = {.bandwidth_bytes_per_s = 10e9,
                                .pair_bandwidth_bytes_per_s = 20e9},
                       .same_node = true,
                       .measured = tables};
  EXPECT_DOUBLE_EQ(TransferSeconds(4e6, path), 2);
  // Two pairs carry half each, and slow each other down by 20/10.
  path.flows = 2;
  EXPECT_DOUBLE_EQ(TransferSeconds(4e6, path), 2);
  path.same_node = false;
  EXPECT_DOUBLE_EQ(TransferSeconds(4e6, path), 4e6 / 10e9);
}

TEST(MeasuredCollectiveTest, OfTwoNodesOverridesWhatOnePairGetsBetweenThem) {
  const std::vector<MeasuredCollective> tables = {
      {.op = CollectiveOp::kPointToPoint,
       .ranks = 2,
       .nodes = 2,
       .points = {{1e6, 1e-3}}}};
  TransferPath path = {
      .link = {.bandwidth_bytes_per_s = 2e9, .pair_bandwidth_bytes_per_s = 2e9},
      .measured = tables};
  // 1 GB/s a pair, 2 GB/s all: 4 MB take 4 ms, 2 ms on two pairs and on four.
  EXPECT_DOUBLE_EQ(TransferSeconds(4e6, path), 4e-3);
  path.flows = 2;
  EXPECT_DOUBLE_EQ(TransferSeconds(4e6, path), 2e-3);
  path.flows = 4;
  EXPECT_DOUBLE_EQ(TransferSeconds(4e6, path), 2e-3);
}

}  // namespace
}  // namespace tangram
