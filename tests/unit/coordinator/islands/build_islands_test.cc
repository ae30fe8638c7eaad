#include "coordinator/islands/build_islands.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "coordinator/islands/homogeneous_classes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestCluster;
using ::tangram::testing::TestDevice;
using ::testing::ElementsAre;
using ::testing::SizeIs;

DeviceSpec Device(const std::string& type, double fp16_flops,
                  double memory_bytes) {
  DeviceSpec device = TestDevice(type);
  device.peak_flops.fp16 = fp16_flops;
  device.memory_bytes = memory_bytes;
  return device;
}

std::vector<Island> Build(const Cluster& cluster,
                          const IslandTolerances& tolerances = {}) {
  // As many islands as nodes, so none are merged.
  const int most = static_cast<int>(cluster.nodes.size());
  return BuildIslands(cluster, Precision::kFp16, tolerances, {},
                      {.max_islands = most})
      ->islands;
}

TEST(BuildIslandsTest, HomogeneousClusterIsOneIsland) {
  const std::vector<Island> islands = Build(
      TestCluster({{.name = "a", .num_nodes = 3, .device = TestDevice()}}));

  ASSERT_THAT(islands, SizeIs(1));
  EXPECT_THAT(islands[0].nodes, ElementsAre(0, 1, 2));
  EXPECT_EQ(islands[0].name, "TEST x12");
  EXPECT_EQ(islands[0].reason, "the whole cluster is homogeneous");
}

TEST(BuildIslandsTest, SplitsGpuTypesAndSaysWhy) {
  const std::vector<Island> islands = Build(
      TestCluster({{.name = "v100", .device = Device("V100", 112e12, 16e9)},
                   {.name = "t4", .device = Device("T4", 65e12, 16e9)}}));

  ASSERT_THAT(islands, SizeIs(2));
  EXPECT_EQ(islands[0].name, "T4 x4");  // "t4-0" sorts before "v100-0".
  EXPECT_EQ(islands[0].id, 0);
  EXPECT_THAT(islands[0].nodes, ElementsAre(1));
  EXPECT_EQ(islands[1].id, 1);
  // 112 / 65 = 1.723.
  EXPECT_EQ(islands[1].reason,
            "V100: 112 TFLOP/s fp16, T4 has 65 (spread 1.72 > 1.05)");
}

TEST(BuildIslandsTest, MemoryAndNodeSizeHaveReasonsOfTheirOwn) {
  const Cluster cluster =
      TestCluster({{.name = "a", .device = Device("V100-16", 112e12, 16e9)},
                   {.name = "b", .device = Device("V100-32", 112e12, 32e9)},
                   {.name = "c",
                    .gpus_per_node = 8,
                    .device = Device("V100-16", 112e12, 16e9)}});

  const std::vector<Island> islands = Build(cluster);

  ASSERT_THAT(islands, SizeIs(3));
  EXPECT_EQ(islands[0].reason,
            "V100-16: 16 GB per GPU, V100-32 has 32 (spread 2 > 1.05)");
  EXPECT_EQ(islands[2].reason, "V100-16: 8 GPUs per node, V100-16 has 4");
}

TEST(BuildIslandsTest, SplitsByLinksAndSaysWhy) {
  // Two racks of T4 at 3.2 GB/s inside and 1.1 GB/s between, and a V100 that
  // both reach at 2 GB/s.
  Cluster cluster = TestCluster(
      {{.name = "a", .num_nodes = 2, .device = Device("T4", 65e12, 16e9)},
       {.name = "b", .num_nodes = 2, .device = Device("T4", 65e12, 16e9)},
       {.name = "c", .device = Device("V100", 112e12, 16e9)}},
      2e9);
  for (const int g : {0, 1}) cluster.links[g][g].bandwidth_bytes_per_s = 3.2e9;
  cluster.links[0][1].bandwidth_bytes_per_s = 1.1e9;

  const std::vector<Island> islands = Build(cluster);

  ASSERT_THAT(islands, SizeIs(3));
  EXPECT_THAT(islands[1].nodes, ElementsAre(2, 3));
  EXPECT_EQ(islands[1].reason,
            "links inside at 3.2 GB/s, to T4 x8 at 1.1 GB/s");
  EXPECT_EQ(islands[1].spec.inter_node.bandwidth_bytes_per_s, 3.2e9);
}

TEST(BuildIslandsTest, SimilarDevicesShareAnIslandAtTheWeakerFigures) {
  const std::vector<Island> islands =
      Build(TestCluster({{.name = "a", .device = Device("X", 104e12, 16e9)},
                         {.name = "b", .device = Device("Y", 100e12, 16e9)}}));

  ASSERT_THAT(islands, SizeIs(1));
  EXPECT_EQ(islands[0].name, "X/Y x8");
  EXPECT_EQ(islands[0].spec.device.peak_flops.fp16, 100e12);
}

TEST(BuildIslandsTest, EmptyClusterHasNoIslands) {
  EXPECT_THAT(Build(Cluster()), SizeIs(0));
}

TEST(LinkBetweenIslandsTest, IsTheSlowestInThatDirection) {
  Cluster cluster = TestCluster({{.name = "a", .device = TestDevice()},
                                 {.name = "b", .device = TestDevice()},
                                 {.name = "c", .device = TestDevice()}});
  cluster.links[0][2].bandwidth_bytes_per_s = 7;
  cluster.links[1][2].bandwidth_bytes_per_s = 5;
  cluster.links[2][0].bandwidth_bytes_per_s = 3;
  const Island from{.nodes = {0, 1}};
  const Island to{.nodes = {2}};

  EXPECT_EQ(LinkBetweenIslands(cluster, from, to).bandwidth_bytes_per_s, 5);
  EXPECT_EQ(LinkBetweenIslands(cluster, to, from).bandwidth_bytes_per_s, 3);
}

// Returns a random small cluster. It has few distinct values, so that every
// criterion separates nodes in some cluster.
Cluster RandomCluster(int seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::vector<double> values) {
    return values[random() % values.size()];
  };
  std::vector<testing::TestGroup> groups;
  const int num_groups = 1 + static_cast<int>(random() % 5);
  for (int g = 0; g < num_groups; ++g) {
    groups.push_back({.name = absl::StrCat("g", g),
                      .num_nodes = 1 + static_cast<int>(random() % 3),
                      .gpus_per_node = random() % 4 == 0 ? 8 : 4,
                      .device = Device("X", pick({100e12, 103e12, 106e12}),
                                       pick({16e9, 16.5e9, 32e9}))});
  }
  Cluster cluster = TestCluster(groups);
  for (auto& row : cluster.links) {
    for (Link& link : row) link.bandwidth_bytes_per_s = pick({1e9, 2e9, 3e9});
  }
  return cluster;
}

double Spread(const Cluster& cluster, const Island& island,
              double (*value)(const Node&)) {
  double low = 1e300;
  double high = 0;
  for (const int node : island.nodes) {
    low = std::min(low, value(cluster.nodes[node]));
    high = std::max(high, value(cluster.nodes[node]));
  }
  return high / low;
}

double SlowerDirection(const Cluster& cluster, int a, int b) {
  return std::min(cluster.LinkBetween(a, b).bandwidth_bytes_per_s,
                  cluster.LinkBetween(b, a).bandwidth_bytes_per_s);
}

bool SatisfiesProximity(const Cluster& cluster, const Island& island) {
  const std::set<int> inside(island.nodes.begin(), island.nodes.end());
  double slowest_inside = 1e300;
  double fastest_leaving = 0;
  for (const int a : inside) {
    for (int b = 0; b < static_cast<int>(cluster.nodes.size()); ++b) {
      if (a == b) continue;
      const double link = SlowerDirection(cluster, a, b);
      if (inside.count(b) > 0) {
        slowest_inside = std::min(slowest_inside, link);
      } else {
        fastest_leaving = std::max(fastest_leaving, link);
      }
    }
  }
  return slowest_inside >= fastest_leaving;
}

TEST(BuildIslandsPropertyTest, IslandsSatisfyTheConstraintsAndCoverTheCluster) {
  int several_nodes = 0;
  for (int seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Cluster cluster = RandomCluster(seed);

    std::multiset<int> covered;
    for (const Island& island : Build(cluster)) {
      covered.insert(island.nodes.begin(), island.nodes.end());
      if (island.nodes.size() > 1) ++several_nodes;
      EXPECT_TRUE(std::is_sorted(island.nodes.begin(), island.nodes.end()));
      EXPECT_FALSE(island.reason.empty());
      EXPECT_EQ(Spread(cluster, island,
                       [](const Node& node) { return 1.0 * node.num_gpus; }),
                1);
      EXPECT_LE(Spread(cluster, island,
                       [](const Node& node) {
                         return ComputeOf(node.device, Precision::kFp16);
                       }),
                1.05);
      EXPECT_LE(
          Spread(cluster, island,
                 [](const Node& node) { return node.device.memory_bytes; }),
          1.05);
      EXPECT_TRUE(SatisfiesProximity(cluster, island));
    }

    std::multiset<int> all;
    for (size_t i = 0; i < cluster.nodes.size(); ++i) {
      all.insert(static_cast<int>(i));
    }
    EXPECT_EQ(covered, all);
  }
  EXPECT_GT(several_nodes, 50);
}

// Returns the same cluster with nodes and groups in another order.
Cluster Shuffled(const Cluster& cluster, int seed) {
  std::mt19937 random(seed);
  std::vector<int> new_group(cluster.groups.size());
  std::iota(new_group.begin(), new_group.end(), 0);
  std::shuffle(new_group.begin(), new_group.end(), random);
  Cluster shuffled = cluster;
  for (size_t a = 0; a < new_group.size(); ++a) {
    shuffled.groups[new_group[a]] = cluster.groups[a];
    for (size_t b = 0; b < new_group.size(); ++b) {
      shuffled.links[new_group[a]][new_group[b]] = cluster.links[a][b];
    }
  }
  for (Node& node : shuffled.nodes) node.group = new_group[node.group];
  std::shuffle(shuffled.nodes.begin(), shuffled.nodes.end(), random);
  return shuffled;
}

std::set<std::string> NamesOf(const Cluster& cluster, const Island& island) {
  std::set<std::string> names;
  for (const int node : island.nodes) names.insert(cluster.nodes[node].name);
  return names;
}

TEST(BuildIslandsPropertyTest, OrderOfNodesChangesNothing) {
  for (int seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Cluster cluster = RandomCluster(seed);
    const Cluster shuffled = Shuffled(cluster, seed + 1);

    const std::vector<Island> islands = Build(cluster);
    const std::vector<Island> again = Build(shuffled);

    ASSERT_EQ(islands.size(), again.size());
    for (size_t i = 0; i < islands.size(); ++i) {
      EXPECT_EQ(NamesOf(cluster, islands[i]), NamesOf(shuffled, again[i]));
      EXPECT_EQ(islands[i].spec, again[i].spec);
      EXPECT_EQ(islands[i].name, again[i].name);
      EXPECT_EQ(islands[i].reason, again[i].reason);
    }
  }
}

}  // namespace
}  // namespace tangram
