#include "coordinator/islands/merge_parts.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::TestGroup;

// A cluster of groups of one node, where group i has tflops[i].
Cluster ClusterOfSpeeds(const std::vector<double>& tflops) {
  std::vector<TestGroup> groups;
  for (size_t i = 0; i < tflops.size(); ++i) {
    DeviceSpec device = testing::TestDevice(absl::StrCat("D", i));
    device.peak_flops.fp16 = tflops[i] * 1e12;
    groups.push_back({.name = absl::StrCat("g", i),
                      .num_nodes = 1,
                      .gpus_per_node = 4,
                      .device = device});
  }
  return testing::TestCluster(groups);
}

absl::StatusOr<IslandSet> BuildAtMost(const Cluster& cluster, int most) {
  return BuildIslandsWithin(cluster, Precision::kFp16, {}, {},
                            {.max_islands = most});
}

std::vector<std::vector<int>> NodesOf(const std::vector<Island>& islands) {
  std::vector<std::vector<int>> nodes;
  for (const Island& island : islands) nodes.push_back(island.nodes);
  return nodes;
}

TEST(MergePartsTest, FewIslandsStayAsTheyAre) {
  const Cluster cluster = ClusterOfSpeeds({100, 200, 300});
  ASSERT_OK_AND_ASSIGN(const IslandSet set, BuildAtMost(cluster, 3));
  EXPECT_THAT(set.notes, IsEmpty());
  EXPECT_EQ(NodesOf(set.islands),
            NodesOf(BuildIslands(cluster, Precision::kFp16, {})));
}

TEST(MergePartsTest, TheMostAlikeAreMergedAndNamed) {
  // Merging 100 and 110 loses 4 GPUs · 10; 200 and 230 lose 4 GPUs · 30.
  const Cluster cluster = ClusterOfSpeeds({100, 200, 110, 230});
  ASSERT_OK_AND_ASSIGN(const IslandSet three, BuildAtMost(cluster, 3));
  EXPECT_EQ(NodesOf(three.islands),
            (std::vector<std::vector<int>>{{0, 2}, {1}, {3}}));
  EXPECT_THAT(three.islands[0].reason, HasSubstr("2 islands merged"));
  EXPECT_EQ(three.islands[0].spec.device.peak_flops.fp16, 100e12);
  ASSERT_THAT(three.notes, SizeIs(1));
  EXPECT_THAT(three.notes[0], HasSubstr("4 islands were merged into 3"));
  ASSERT_OK_AND_ASSIGN(const IslandSet two, BuildAtMost(cluster, 2));
  EXPECT_EQ(NodesOf(two.islands),
            (std::vector<std::vector<int>>{{0, 2}, {1, 3}}));
}

TEST(MergePartsTest, EqualNodesMergeOverTheFastestLink) {
  Cluster cluster = ClusterOfSpeeds({100, 100, 100});
  const auto link = [&](int a, int b, double bandwidth) {
    cluster.links[a][b] =
        cluster.links[b][a] = {.bandwidth_bytes_per_s = bandwidth,
                               .pair_bandwidth_bytes_per_s = bandwidth};
  };
  link(0, 1, 1e9);
  link(0, 2, 1e9);
  link(1, 2, 5e9);
  std::vector<Part> parts = {{.nodes = {0}}, {.nodes = {1}}, {.nodes = {2}}};
  const std::vector<Part> merged =
      MergeParts(cluster, Precision::kFp16, {.max_islands = 2}, parts);
  ASSERT_THAT(merged, SizeIs(2));
  EXPECT_THAT(merged[1].nodes, ::testing::ElementsAre(1, 2));
  EXPECT_EQ(merged[1].num_merged, 2);
}

TEST(MergePartsTest, MarkedNodesAreMergedLast) {
  const Cluster cluster = ClusterOfSpeeds({100, 110, 200});
  ASSERT_OK_AND_ASSIGN(
      const IslandSet set,
      BuildIslandsWithin(cluster, Precision::kFp16, {}, {},
                         {.max_islands = 2, .marks = {1, 0, 0}}));
  EXPECT_EQ(NodesOf(set.islands), (std::vector<std::vector<int>>{{0}, {1, 2}}));
}

TEST(MergePartsTest, LargerNodesLeaveGpusUnused) {
  Cluster cluster = ClusterOfSpeeds({100, 100});
  cluster.nodes[1].num_gpus = 8;
  ASSERT_OK_AND_ASSIGN(const IslandSet set, BuildAtMost(cluster, 1));
  ASSERT_THAT(set.islands, SizeIs(1));
  EXPECT_EQ(set.islands[0].spec.gpus_per_node, 4);
  EXPECT_THAT(set.islands[0].reason,
              HasSubstr("4 GPUs of nodes with more than 4 are not used"));
}

TEST(MergePartsTest, HundredsOfIslandsBecomeSixteenThatCoverTheCluster) {
  std::vector<double> tflops;
  for (int i = 0; i < 400; ++i) tflops.push_back(std::pow(1.06, i));
  const Cluster cluster = ClusterOfSpeeds(tflops);
  ASSERT_OK_AND_ASSIGN(const IslandSet set, BuildAtMost(cluster, 16));
  EXPECT_THAT(set.islands, SizeIs(16));
  std::set<int> nodes;
  for (const Island& island : set.islands) {
    EXPECT_TRUE(std::is_sorted(island.nodes.begin(), island.nodes.end()));
    nodes.insert(island.nodes.begin(), island.nodes.end());
  }
  EXPECT_THAT(nodes, SizeIs(400));
}

TEST(MergePartsTest, BeyondTheLimitOfBlocksGroupsAreMergedFirst) {
  // 3,000 nodes of one group, whose inner links are slower than those to
  // another kind of node: each is an island of its own.
  DeviceSpec other = testing::TestDevice("OTHER");
  other.peak_flops.fp16 = 1e15;
  Cluster cluster = testing::TestCluster(
      {{.name = "many",
        .num_nodes = 3000,
        .gpus_per_node = 1,
        .device = testing::TestDevice("MANY")},
       {.name = "one", .num_nodes = 1, .gpus_per_node = 1, .device = other}},
      50e9);
  ASSERT_OK_AND_ASSIGN(const IslandSet set, BuildAtMost(cluster, 16));
  EXPECT_LE(set.islands.size(), 16u);
  EXPECT_THAT(set.notes, SizeIs(1));
}

TEST(MergePartsTest, StopsBetweenTwoMerges) {
  std::vector<double> tflops;
  for (int i = 0; i < 40; ++i) tflops.push_back(std::pow(1.06, i));
  int polls = 0;
  EXPECT_THAT(
      BuildIslandsWithin(ClusterOfSpeeds(tflops), Precision::kFp16, {}, {},
                         {.should_stop = [&] { return ++polls > 45; }}),
      testing::StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_LE(polls, 50);
}

}  // namespace
}  // namespace tangram
