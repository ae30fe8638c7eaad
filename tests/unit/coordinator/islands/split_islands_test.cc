#include "coordinator/islands/split_islands.h"

#include <set>
#include <vector>

#include "coordinator/islands/build_islands.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// `num_groups` groups of two equal nodes each, with slow links between them.
Cluster EqualGroups(int num_groups, double between_bytes_per_s = 2e9) {
  std::vector<testing::TestGroup> groups;
  for (int g = 0; g < num_groups; ++g) {
    groups.push_back({.name = "g" + std::to_string(g),
                      .num_nodes = 2,
                      .gpus_per_node = 4,
                      .device = testing::TestDevice()});
  }
  return testing::TestCluster(groups, between_bytes_per_s);
}

std::vector<Island> IslandsOfCluster(const Cluster& cluster) {
  return BuildIslands(cluster, Precision::kFp16, {}, {}, {})->islands;
}

TEST(SplitIslandsTest, GroupsWithSlowLinksBetweenThemCanBeApart) {
  const Cluster cluster = EqualGroups(2);
  const std::vector<Island> islands = IslandsOfCluster(cluster);
  ASSERT_THAT(islands, SizeIs(1));
  const std::vector<IslandSplit> splits = IslandSplits(cluster, islands);
  ASSERT_THAT(splits, ElementsAre(ElementsAre(0, 0, 1, 1)));
  const std::vector<Island> parts =
      SplitIslands(cluster, islands, splits.front());
  ASSERT_THAT(parts, SizeIs(2));
  EXPECT_EQ(parts[1].id, 1);
  EXPECT_EQ(parts[1].name, "TEST x8");
  EXPECT_THAT(parts[1].nodes, ElementsAre(2, 3));
  EXPECT_GT(parts[1].spec.inter_node.bandwidth_bytes_per_s,
            islands[0].spec.inter_node.bandwidth_bytes_per_s);
}

TEST(SplitIslandsTest, ThreeGroupsAreDividedInEveryWay) {
  const Cluster cluster = EqualGroups(3);
  const std::vector<Island> islands = IslandsOfCluster(cluster);
  std::set<size_t> sizes;
  const std::vector<IslandSplit> splits = IslandSplits(cluster, islands);
  EXPECT_THAT(splits, SizeIs(4));
  EXPECT_THAT(SplitIslands(cluster, islands, splits[0]), SizeIs(3));
  for (size_t i = 1; i < splits.size(); ++i) {
    EXPECT_THAT(SplitIslands(cluster, islands, splits[i]), SizeIs(2));
  }
  EXPECT_EQ(std::set(splits.begin(), splits.end()).size(), 4);
}

TEST(SplitIslandsTest, ManyGroupsStayTogether) {
  const Cluster four = EqualGroups(4);
  EXPECT_THAT(IslandSplits(four, IslandsOfCluster(four)), SizeIs(1));
  const Cluster five = EqualGroups(5);
  EXPECT_THAT(IslandSplits(five, IslandsOfCluster(five)), IsEmpty());
}

TEST(SplitIslandsTest, NothingIsDividedWithoutSlowerLinks) {
  const Cluster one = EqualGroups(1);
  EXPECT_THAT(IslandSplits(one, IslandsOfCluster(one)), IsEmpty());
  // As fast between groups as inside them.
  const Cluster equal = EqualGroups(2, 10e9);
  EXPECT_THAT(IslandSplits(equal, IslandsOfCluster(equal)), IsEmpty());
}

}  // namespace
}  // namespace tangram
