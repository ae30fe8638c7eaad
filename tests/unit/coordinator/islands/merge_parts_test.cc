#include "coordinator/islands/merge_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
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
  return BuildIslands(cluster, Precision::kFp16, {}, {}, {.max_islands = most});
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
  EXPECT_THAT(NodesOf(set.islands),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
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
  ASSERT_OK_AND_ASSIGN(const IslandSet set,
                       BuildIslands(cluster, Precision::kFp16, {}, {},
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

// Merges by the header's formula alone: every step computes every loss from the
// nodes.
class NaiveMerge {
 public:
  explicit NaiveMerge(const Cluster& cluster) : cluster_(cluster) {}

  std::vector<std::vector<int>> Run(size_t most) const {
    std::vector<std::vector<int>> parts;
    for (size_t n = 0; n < cluster_.nodes.size(); ++n) {
      parts.push_back({static_cast<int>(n)});
    }
    while (parts.size() > most) {
      double least = std::numeric_limits<double>::infinity();
      std::pair<size_t, size_t> best;
      for (size_t i = 0; i < parts.size(); ++i) {
        for (size_t j = i + 1; j < parts.size(); ++j) {
          const double loss = Loss(parts[i], parts[j]);
          if (loss < least)
            std::tie(least, best) = std::tuple(loss, std::pair(i, j));
        }
      }
      std::vector<int>& into = parts[best.first];
      into = Union(into, parts[best.second]);
      parts.erase(parts.begin() + static_cast<int>(best.second));
    }
    return parts;
  }

 private:
  static constexpr double kFastest = 4e9;

  static std::vector<int> Union(std::vector<int> a, const std::vector<int>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  static double GpusOf(const std::vector<int>& part) {
    return 4.0 * static_cast<double>(part.size());
  }
  double FlopsOf(const std::vector<int>& part) const {
    double least = std::numeric_limits<double>::infinity();
    for (const int n : part) {
      least = std::min(least, cluster_.nodes[n].device.peak_flops.fp16);
    }
    return GpusOf(part) * least;
  }
  double LinkOf(const std::vector<int>& part) const {
    double slowest = kFastest;
    for (const int a : part) {
      for (const int b : part) {
        if (a == b) continue;
        slowest = std::min(slowest, cluster_.links[a][b].bandwidth_bytes_per_s);
      }
    }
    return slowest;
  }
  // Memory is equal everywhere, so it is never lost.
  double Loss(const std::vector<int>& a, const std::vector<int>& b) const {
    double all_flops = 0;
    double all_gpus = 0;
    for (size_t n = 0; n < cluster_.nodes.size(); ++n) {
      all_flops += FlopsOf({static_cast<int>(n)});
      all_gpus += GpusOf({static_cast<int>(n)});
    }
    const std::vector<int> both = Union(a, b);
    double links = 0;
    for (const auto* own : {&a, &b}) {
      links += GpusOf(*own) * (1 - LinkOf(both) / LinkOf(*own));
    }
    return (FlopsOf(a) + FlopsOf(b) - FlopsOf(both)) / all_flops + 0.0 +
           0.1 * (links / all_gpus);
  }

  const Cluster& cluster_;
};

// Few different speeds and links, so that most losses tie.
TEST(MergePartsTest, EqualsTheFormulaWhereLossesTie) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    std::vector<double> tflops;
    const int num_nodes = 4 + static_cast<int>(rng() % 9);
    for (int n = 0; n < num_nodes; ++n) {
      tflops.push_back(rng() % 3 == 0 ? 128 : 64);
    }
    Cluster cluster = ClusterOfSpeeds(tflops);
    for (int a = 0; a < num_nodes; ++a) {
      for (int b = 0; b <= a; ++b) {
        const double bandwidth = 1e9 * (1 << rng() % 3);
        cluster.links[a][b] =
            cluster.links[b][a] = {.bandwidth_bytes_per_s = bandwidth,
                                   .pair_bandwidth_bytes_per_s = bandwidth};
      }
    }
    cluster.links[0][0].bandwidth_bytes_per_s = 4e9;
    std::vector<Part> parts;
    for (int n = 0; n < num_nodes; ++n) parts.push_back({.nodes = {n}});
    const int most = 1 + static_cast<int>(rng() % 3);
    std::vector<std::vector<int>> merged;
    for (const Part& part :
         MergeParts(cluster, Precision::kFp16, {.max_islands = most}, parts)) {
      merged.push_back(part.nodes);
    }
    EXPECT_EQ(merged, NaiveMerge(cluster).Run(most));
  }
}

TEST(MergePartsTest, StopsBetweenTwoMerges) {
  std::vector<double> tflops;
  for (int i = 0; i < 40; ++i) tflops.push_back(std::pow(1.06, i));
  int polls = 0;
  EXPECT_THAT(BuildIslands(ClusterOfSpeeds(tflops), Precision::kFp16, {}, {},
                           {.should_stop = [&] { return ++polls > 45; }}),
              testing::StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_LE(polls, 50);
}

}  // namespace
}  // namespace tangram
