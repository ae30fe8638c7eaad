#include "coordinator/islands/alike_islands.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/islands/island_spec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestCluster;
using ::tangram::testing::TestDevice;
using ::tangram::testing::TestGroup;
using ::testing::ElementsAre;

// Returns islands with these nodes.
std::vector<Island> IslandsOfNodes(const Cluster& cluster,
                                   const std::vector<std::vector<int>>& nodes) {
  std::vector<Island> islands;
  for (const std::vector<int>& of_island : nodes) {
    islands.push_back({.id = static_cast<int>(islands.size()),
                       .nodes = of_island,
                       .spec = WeakestSpec(cluster, of_island)});
  }
  return islands;
}

std::vector<int> FirstAlikeOf(const Cluster& cluster,
                              const std::vector<std::vector<int>>& nodes) {
  return FirstAlike(cluster, IslandsOfNodes(cluster, nodes));
}

// Three groups of one node, with equal links.
Cluster ThreeAlone() {
  return TestCluster({{.name = "a", .device = TestDevice()},
                      {.name = "b", .device = TestDevice()},
                      {.name = "c", .device = TestDevice()}});
}

TEST(FirstAlikeTest, NodesOfOneGroupAreAlike) {
  const Cluster cluster =
      TestCluster({{.name = "a", .num_nodes = 4, .device = TestDevice()},
                   {.name = "b", .device = TestDevice("OTHER")}});
  EXPECT_THAT(FirstAlikeOf(cluster, {{0}, {4}, {1}, {3}}),
              ElementsAre(0, 1, 0, 0));
  // The number of nodes counts.
  EXPECT_THAT(FirstAlikeOf(cluster, {{0, 1}, {2}, {3}}), ElementsAre(0, 1, 1));
}

TEST(FirstAlikeTest, GroupsWithEqualLinksAreAlike) {
  EXPECT_THAT(FirstAlikeOf(ThreeAlone(), {{0}, {1}, {2}}),
              ElementsAre(0, 0, 0));
}

TEST(FirstAlikeTest, ALinkInOneDirectionTellsGroupsApart) {
  Cluster cluster = ThreeAlone();
  cluster.links[2][0].bandwidth_bytes_per_s *= 2;
  EXPECT_THAT(FirstAlikeOf(cluster, {{0}, {1}, {2}}), ElementsAre(0, 1, 2));
  cluster.links[0][2].bandwidth_bytes_per_s *= 2;
  EXPECT_THAT(FirstAlikeOf(cluster, {{0}, {1}, {2}}), ElementsAre(0, 1, 0));
}

TEST(FirstAlikeTest, LinksToNodesOutsideOfAllIslandsCount) {
  Cluster cluster = ThreeAlone();
  cluster.links[2][0].latency_s = 1;
  EXPECT_THAT(FirstAlikeOf(cluster, {{0}, {1}}), ElementsAre(0, 1));
}

// Two racks: nodes of a rack are near one another.
TEST(FirstAlikeTest, NodesOfTwoRacksAreNotAlike) {
  const Cluster cluster =
      TestCluster({{.name = "a", .num_nodes = 2, .device = TestDevice()},
                   {.name = "b", .num_nodes = 2, .device = TestDevice()}});
  EXPECT_THAT(FirstAlikeOf(cluster, {{0}, {1}, {2}, {3}}),
              ElementsAre(0, 0, 2, 2));
  // All of both racks are.
  EXPECT_THAT(FirstAlikeOf(cluster, {{0, 1}, {2, 3}}), ElementsAre(0, 0));
}

TEST(FirstAlikeTest, ANodeThatIsNotTheWeakestCounts) {
  DeviceSpec faster = TestDevice();
  faster.peak_flops.fp16 *= 1.01;
  const Cluster cluster =
      TestCluster({{.name = "a", .num_nodes = 2, .device = TestDevice()},
                   {.name = "b", .device = TestDevice()},
                   {.name = "c", .device = faster}});
  const std::vector<Island> islands = IslandsOfNodes(cluster, {{0, 1}, {2, 3}});
  EXPECT_EQ(islands[0].spec.device.peak_flops,
            islands[1].spec.device.peak_flops);
  EXPECT_THAT(FirstAlike(cluster, islands), ElementsAre(0, 1));
}

}  // namespace
}  // namespace tangram
