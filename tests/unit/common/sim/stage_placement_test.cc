#include "common/sim/stage_placement.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"

namespace tangram {
namespace {

using testing::NodeGpus;

// Nodes 0 and 1 of group a with 4 GPUs, node 2 of group b with 4.
Cluster MixedCluster() {
  DeviceSpec weak = testing::TestDevice("WEAK");
  weak.peak_flops.fp16 = 50e12;
  weak.memory_bytes = 8e9;
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice()},
       {.name = "b", .num_nodes = 1, .device = weak}});
  cluster.nodes[2].intra_node = {20e9, 30e9, 3e-6};
  cluster.links[0][1] = {4e9, 2e9, 1e-6};
  cluster.links[1][0] = {3e9, 3e9, 2e-6};
  cluster.links[1][1] = {1e9, 1e9, 9e-6};  // Not used: b has one node.
  return cluster;
}

std::vector<GpuId> Join(std::vector<GpuId> a, const std::vector<GpuId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(WeakestDeviceTest, IsTheDeviceWhereAllAreAlike) {
  const Cluster cluster = MixedCluster();
  EXPECT_EQ(WeakestDevice(cluster, NodeGpus(1, 4)), cluster.nodes[1].device);
}

TEST(WeakestDeviceTest, TakesTheWeakestWhereTheyDiffer) {
  const DeviceSpec device =
      WeakestDevice(MixedCluster(), Join(NodeGpus(1, 4), NodeGpus(2, 4)));
  EXPECT_EQ(device.peak_flops.fp16, 50e12);
  EXPECT_EQ(device.memory_bytes, 8e9);
}

TEST(WiringOfGpusTest, OfOneNodeIsItsOwn) {
  const Cluster cluster = MixedCluster();
  const StageWiring wiring = WiringOfGpus(cluster, NodeGpus(2, 2, 1));
  EXPECT_EQ(wiring.gpus_per_node, 2);
  EXPECT_EQ(wiring.intra_node, cluster.nodes[2].intra_node);
}

TEST(WiringOfGpusTest, OfWholeNodesOfAGroupIsTheIslands) {
  const Cluster cluster = MixedCluster();
  const StageWiring wiring =
      WiringOfGpus(cluster, Join(NodeGpus(0, 4), NodeGpus(1, 4)));
  EXPECT_EQ(wiring.gpus_per_node, 4);
  EXPECT_EQ(wiring.intra_node, cluster.nodes[0].intra_node);
  EXPECT_EQ(wiring.inter_node, cluster.links[0][0]);
}

TEST(WiringOfGpusTest, AcrossGroupsHasTheSlowestLinksOfEitherDirection) {
  const StageWiring wiring =
      WiringOfGpus(MixedCluster(), Join(NodeGpus(0, 4), NodeGpus(2, 4)));
  EXPECT_EQ(wiring.gpus_per_node, 4);
  EXPECT_EQ(wiring.intra_node, (Link{20e9, 30e9, 3e-6}));
  EXPECT_EQ(wiring.inter_node, (Link{3e9, 2e9, 2e-6}));
}

TEST(WiringOfGpusTest, SplitsANodeWhoseShareIsLarger) {
  // 2 + 4 GPUs: blocks of two, and the node of four has two of them, which
  // share its 10 GB/s.
  const StageWiring wiring =
      WiringOfGpus(MixedCluster(), Join(NodeGpus(0, 2), NodeGpus(1, 4)));
  EXPECT_EQ(wiring.gpus_per_node, 2);
  EXPECT_EQ(wiring.inter_node, (Link{5e9, 5e9, 0}));
}

TEST(WiringOfGpusTest, SplitsNodesWhoseRanksAlternate) {
  const StageWiring wiring =
      WiringOfGpus(MixedCluster(), {{0, 0}, {1, 0}, {0, 1}, {1, 1}});
  EXPECT_EQ(wiring.gpus_per_node, 1);
  EXPECT_EQ(wiring.inter_node, (Link{5e9, 5e9, 0}));
}

TEST(PathBetweenTest, StaysInsideANodeThatHoldsBothStages) {
  const Cluster cluster = MixedCluster();
  const TransferPath path =
      PathBetween(cluster, NodeGpus(0, 1), NodeGpus(0, 3, 1));
  EXPECT_TRUE(path.same_node);
  EXPECT_EQ(path.link, cluster.nodes[0].intra_node);
  EXPECT_EQ(path.flows, 1);
  EXPECT_EQ(path.node_pairs, 1);
}

TEST(PathBetweenTest, UsesTheLinkOfItsDirection) {
  const Cluster cluster = MixedCluster();
  const TransferPath there =
      PathBetween(cluster, NodeGpus(1, 4), NodeGpus(2, 2));
  EXPECT_FALSE(there.same_node);
  EXPECT_EQ(there.link, cluster.links[0][1]);
  EXPECT_EQ(there.flows, 2);
  EXPECT_EQ(PathBetween(cluster, NodeGpus(2, 2), NodeGpus(1, 4)).link,
            cluster.links[1][0]);
}

TEST(PathBetweenTest, UsesAsManyNodesAsBothStagesHave) {
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 4, .device = testing::TestDevice()}});
  const TransferPath path =
      PathBetween(cluster, Join(NodeGpus(0, 4), NodeGpus(1, 4)),
                  Join(NodeGpus(2, 4), NodeGpus(3, 4)));
  EXPECT_EQ(path.flows, 8);
  EXPECT_EQ(path.node_pairs, 2);
}

TEST(PathBetweenTest, TakesTheSlowestOfSeveralLinks) {
  const Cluster cluster = MixedCluster();
  const TransferPath path = PathBetween(cluster, NodeGpus(0, 4),
                                        Join(NodeGpus(1, 2), NodeGpus(2, 2)));
  EXPECT_EQ(path.link, (Link{4e9, 2e9, 1e-6}));
  EXPECT_EQ(path.node_pairs, 1);
}

TEST(PathBetweenTest, AgreesWithThePathOfAnIsland) {
  const Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice()}});
  const IslandSpec island = testing::TestIsland(2, 4);
  const auto seconds = [&](int from, int from_count, int to, int to_count) {
    return TransferSeconds(1e6,
                           PathWithin(island, from, from_count, to, to_count));
  };
  EXPECT_EQ(TransferSeconds(
                1e6, PathBetween(cluster, NodeGpus(0, 2), NodeGpus(0, 2, 2))),
            seconds(0, 2, 2, 2));
  EXPECT_EQ(TransferSeconds(
                1e6, PathBetween(cluster, NodeGpus(0, 4), NodeGpus(1, 2))),
            seconds(0, 4, 4, 2));
}

TEST(PathEndTest, CountsGpusAndNodesByGroup) {
  const Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice("A")},
       {.name = "b", .num_nodes = 1, .device = testing::TestDevice("B")}});
  const PathEnd end = PathEndOf(
      cluster, Join(NodeGpus(1, 4), Join(NodeGpus(0, 2), NodeGpus(2, 1))));
  EXPECT_EQ(end.num_gpus, 7);
  EXPECT_EQ(end.num_nodes, 3);
  EXPECT_EQ(end.first_node, 0);
  ASSERT_EQ(end.groups.size(), 2u);
  EXPECT_EQ(end.groups[0].num_nodes, 2);
  EXPECT_EQ(end.groups[0].first_node, 0);
  EXPECT_EQ(end.groups[1].num_nodes, 1);
  EXPECT_EQ(end.groups[1].first_node, 2);
}

}  // namespace
}  // namespace tangram
