#include "coordinator/islands/agglomerate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "coordinator/islands/node_links.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestCluster;
using ::tangram::testing::TestDevice;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// A cluster with bandwidth[a][b] from group a to group b and nodes[g] nodes in
// group g.
Cluster ClusterWith(const std::vector<std::vector<double>>& bandwidth,
                    const std::vector<int>& nodes) {
  std::vector<testing::TestGroup> groups;
  for (size_t g = 0; g < nodes.size(); ++g) {
    groups.push_back({.name = absl::StrCat("g", g),
                      .num_nodes = nodes[g],
                      .device = TestDevice()});
  }
  Cluster cluster = TestCluster(groups);
  for (size_t a = 0; a < nodes.size(); ++a) {
    for (size_t b = 0; b < nodes.size(); ++b) {
      cluster.links[a][b].bandwidth_bytes_per_s = bandwidth[a][b];
    }
  }
  return cluster;
}

std::vector<std::vector<int>> AgglomerateAll(const Cluster& cluster,
                                             double tolerance = 0) {
  std::vector<int> nodes(cluster.nodes.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  return AgglomerateByLinks(cluster, nodes, tolerance);
}

TEST(AgglomerateByLinksTest, TheWholeClusterIsOneWhateverItsLinks) {
  const Cluster cluster = ClusterWith({{10, 1}, {1, 10}}, {2, 2});

  // Nothing leaves, so constraint 3 holds with the slow links inside.
  EXPECT_THAT(AgglomerateAll(cluster), ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST(AgglomerateByLinksTest, SplitsWhereLinksToAnOutsiderAreFaster) {
  // Groups 0 and 1 are the class. Both reach group 2, other hardware, at 5:
  // faster than the 1 between them, slower than the 10 inside.
  const Cluster cluster =
      ClusterWith({{10, 1, 5}, {1, 10, 5}, {5, 5, 10}}, {2, 2, 1});

  EXPECT_THAT(AgglomerateByLinks(cluster, {0, 1, 2, 3}, 0),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(AgglomerateByLinksTest, LinkAsFastAsTheOneLeavingIsEnough) {
  const Cluster cluster = ClusterWith({{5, 5}, {5, 5}}, {2, 1});

  EXPECT_THAT(AgglomerateByLinks(cluster, {0, 1}, 0),
              ElementsAre(ElementsAre(0, 1)));
}

TEST(AgglomerateByLinksTest, NodesOfABlockPartIfTheirLinkIsTooSlow) {
  const Cluster cluster = ClusterWith({{4, 5}, {5, 5}}, {3, 1});

  EXPECT_THAT(AgglomerateByLinks(cluster, {0, 1, 2}, 0),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
}

TEST(AgglomerateByLinksTest, ToleranceAllowsSlightlySlowerLinks) {
  const Cluster cluster = ClusterWith({{4, 5}, {5, 5}}, {3, 1});

  // 4 ≥ 5 / 1.25, exactly.
  EXPECT_THAT(AgglomerateByLinks(cluster, {0, 1, 2}, 0.25),
              ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_THAT(AgglomerateByLinks(cluster, {0, 1, 2}, 0.249),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
}

TEST(AgglomerateByLinksTest, TheSlowerDirectionCounts) {
  // 0 → 1 at 10 but back at 2; 0 and 2 at 5 both ways; outsider 3 at 4.
  const Cluster cluster = ClusterWith(
      {{9, 10, 5, 4}, {2, 9, 2, 1}, {5, 2, 9, 4}, {4, 1, 4, 9}}, {1, 1, 1, 1});

  EXPECT_THAT(AgglomerateByLinks(cluster, {0, 1, 2}, 0),
              UnorderedElementsAre(ElementsAre(0, 2), ElementsAre(1)));
}

TEST(AgglomerateByLinksTest, CompleteLinkageDoesNotChain) {
  // Links 0-1 and 1-2 run at 8, but 0-2 at 1, slower than the outsider at 3. So
  // the three cannot be one island. The tie merges 0-1 first; their 8 is as
  // fast as the link that leaves to 2.
  const Cluster cluster = ClusterWith(
      {{9, 8, 1, 3}, {8, 9, 8, 3}, {1, 8, 9, 3}, {3, 3, 3, 9}}, {1, 1, 1, 1});

  EXPECT_THAT(AgglomerateByLinks(cluster, {0, 1, 2}, 0),
              UnorderedElementsAre(ElementsAre(0, 1), ElementsAre(2)));
}

TEST(AgglomerateByLinksTest, NodesOfOneGroupNeedNotBeABlock) {
  // Nodes of group 0 reach those of group 1 faster than each other.
  const Cluster cluster = ClusterWith({{1, 8}, {8, 1}}, {2, 2});

  EXPECT_THAT(AgglomerateAll(cluster), ElementsAre(ElementsAre(0, 2, 1, 3)));
}

// Clusters by the definition, node by node: merges the two clusters with the
// fastest slowest link until one is left, then cuts from the root.
class Reference {
 public:
  Reference(const Cluster& cluster, int num_nodes) : cluster_(cluster) {
    for (int i = 0; i < num_nodes; ++i) history_.push_back({{i}, -1, -1});
    std::set<int> live;
    for (int i = 0; i < num_nodes; ++i) live.insert(i);
    while (live.size() > 1) {
      std::pair<int, int> best = {-1, -1};
      for (const int a : live) {
        for (const int b : live) {
          if (a >= b) continue;
          if (best.first < 0 ||
              Slowest(a, b) > Slowest(best.first, best.second)) {
            best = {a, b};
          }
        }
      }
      Merged merged{history_[best.first].nodes, best.first, best.second};
      merged.nodes.insert(history_[best.second].nodes.begin(),
                          history_[best.second].nodes.end());
      live.erase(best.first);
      live.erase(best.second);
      live.insert(static_cast<int>(history_.size()));
      history_.push_back(merged);
    }
  }

  std::set<std::set<int>> Cut(double tolerance) const {
    std::set<std::set<int>> kept;
    std::vector<int> pending = {static_cast<int>(history_.size()) - 1};
    while (!pending.empty()) {
      const Merged& top = history_[pending.back()];
      pending.pop_back();
      if (Holds(cluster_, top.nodes, tolerance)) {
        kept.insert(top.nodes);
      } else {
        pending.push_back(top.left);
        pending.push_back(top.right);
      }
    }
    return kept;
  }

  static bool Holds(const Cluster& cluster, const std::set<int>& nodes,
                    double tolerance) {
    for (const int a : nodes) {
      for (const int b : nodes) {
        if (a == b) continue;
        for (const int from : nodes) {
          for (int to = 0; to < static_cast<int>(cluster.nodes.size()); ++to) {
            if (nodes.count(to) > 0) continue;
            if (Speed(cluster, a, b) * (1 + tolerance) <
                Speed(cluster, from, to)) {
              return false;
            }
          }
        }
      }
    }
    return true;
  }

 private:
  struct Merged {
    std::set<int> nodes;
    int left;
    int right;
  };

  static double Speed(const Cluster& cluster, int a, int b) {
    return std::min(cluster.LinkBetween(a, b).bandwidth_bytes_per_s,
                    cluster.LinkBetween(b, a).bandwidth_bytes_per_s);
  }

  double Slowest(int a, int b) const {
    double slowest = 1e300;
    for (const int i : history_[a].nodes) {
      for (const int j : history_[b].nodes) {
        slowest = std::min(slowest, Speed(cluster_, i, j));
      }
    }
    return slowest;
  }

  const Cluster& cluster_;
  std::vector<Merged> history_;
};

Cluster RandomCluster(std::mt19937& random, int num_groups, int max_speed) {
  std::uniform_int_distribution<int> speed(1, max_speed);
  std::vector<std::vector<double>> bandwidth(num_groups);
  for (auto& row : bandwidth) {
    for (int b = 0; b < num_groups; ++b) row.push_back(speed(random));
  }
  return ClusterWith(bandwidth, std::vector<int>(num_groups, 1));
}

// Returns nodes at random places on a line. Links are slower the further apart
// their nodes are. Noise makes directions differ and all links unequal.
Cluster LineCluster(std::mt19937& random, int num_nodes) {
  std::uniform_real_distribution<double> place(0, 1);
  std::uniform_real_distribution<double> noise(0.9, 1.1);
  std::vector<double> places;
  for (int i = 0; i < num_nodes; ++i) places.push_back(place(random));
  std::vector<std::vector<double>> bandwidth(num_nodes);
  for (int a = 0; a < num_nodes; ++a) {
    for (int b = 0; b < num_nodes; ++b) {
      bandwidth[a].push_back(noise(random) /
                             (1e-3 + std::abs(places[a] - places[b])));
    }
  }
  return ClusterWith(bandwidth, std::vector<int>(num_nodes, 1));
}

TEST(AgglomerateByLinksTest, AgreesWithTheDefinitionWithoutTies) {
  constexpr double kTolerance = 1;  // At 0, noise would leave few clusters.
  int merged = 0;
  for (int seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int class_size = 3 + seed % 10;
    const Cluster cluster = LineCluster(random, class_size + 2);
    std::vector<int> nodes(class_size);
    std::iota(nodes.begin(), nodes.end(), 0);

    std::set<std::set<int>> got;
    for (const auto& part : AgglomerateByLinks(cluster, nodes, kTolerance)) {
      got.insert(std::set<int>(part.begin(), part.end()));
      if (part.size() > 2) ++merged;
    }

    EXPECT_EQ(got, Reference(cluster, class_size).Cut(kTolerance));
  }
  EXPECT_GT(merged, 50);
}

TEST(AgglomerateByLinksTest, ConstraintHoldsWithManyTies) {
  int parts = 0;
  int merged = 0;
  for (int seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Cluster cluster = RandomCluster(random, 6, 3);
    const int class_size = 5;
    for (int i = 0; i < 4; ++i) {  // Groups of several nodes as well.
      cluster.nodes.push_back(cluster.nodes[i]);
      cluster.nodes.back().name += "-more";
    }
    std::vector<int> nodes;
    for (int i = 0; i < static_cast<int>(cluster.nodes.size()); ++i) {
      if (cluster.nodes[i].group < class_size) nodes.push_back(i);
    }

    std::multiset<int> covered;
    for (const auto& part : AgglomerateByLinks(cluster, nodes, 0)) {
      covered.insert(part.begin(), part.end());
      ++parts;
      if (part.size() > 1) ++merged;
      EXPECT_TRUE(Reference::Holds(cluster,
                                   std::set<int>(part.begin(), part.end()), 0));
    }

    EXPECT_EQ(covered, std::multiset<int>(nodes.begin(), nodes.end()));
  }
  EXPECT_GT(merged, 50);
  EXPECT_GT(parts, merged);
}

}  // namespace
}  // namespace tangram
