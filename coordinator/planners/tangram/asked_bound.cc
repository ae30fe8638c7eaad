#include "coordinator/planners/tangram/asked_bound.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "coordinator/planners/tangram/simulated_bound.h"

namespace tangram {
namespace {

// Returns whether the island's GPUs and links are those that its parallelizer
// sees. Otherwise they may be faster in the simulation than in the profiles.
// Nodes of a group are identical.
bool IsAsSeen(const Island& island, const Cluster& cluster) {
  std::set<int> groups;
  std::set<int> several;  // Groups of two nodes or more.
  for (const int n : island.nodes) {
    const int group = cluster.nodes[n].group;
    if (!groups.insert(group).second) {
      several.insert(group);
      continue;
    }
    const Node& node = cluster.nodes[n];
    if (!(node.device == island.spec.device) ||
        !(node.intra_node == island.spec.intra_node)) {
      return false;
    }
  }
  return absl::c_all_of(groups, [&](int a) {
    return absl::c_all_of(groups, [&](int b) {
      return (a == b && !several.contains(a)) ||
             cluster.links[a][b] == island.spec.inter_node;
    });
  });
}

}  // namespace

// The least over all microbatch sizes, whose pipelines use any of the islands.
double AskedSeconds(const SearchSpace& space, const Cluster& cluster) {
  for (const Island& island : space.islands) {
    if (space.rules.IsUsable(island.id) && !IsAsSeen(island, cluster)) return 0;
  }
  double least_s = kInfinity;
  for (const WorkBounds& bounds : space.bounds) {
    least_s = std::min(least_s, bounds.PlayedSeconds());
  }
  return std::isfinite(least_s) ? least_s * kRounding : 0;
}

}  // namespace tangram
