#include "coordinator/islands/alike_islands.h"

#include <cstddef>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"

namespace tangram {
namespace {

using GroupPairs = std::set<std::pair<int, int>>;

// Returns the groups that change places when the nodes of two islands do.
GroupPairs SwappedGroups(const Cluster& cluster, const Island& a,
                         const Island& b) {
  GroupPairs swapped;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    swapped.insert(
        {cluster.nodes[a.nodes[i]].group, cluster.nodes[b.nodes[i]].group});
  }
  return swapped;
}

bool HaveEqualNodes(const Cluster& cluster, const Island& a, const Island& b) {
  return absl::c_equal(a.nodes, b.nodes, [&](int one, int other) {
    const Node& node = cluster.nodes[one];
    const Node& copy = cluster.nodes[other];
    return node.num_gpus == copy.num_gpus && node.device == copy.device &&
           node.intra_node == copy.intra_node;
  });
}

// Returns the groups of the nodes that are in neither island.
std::set<int> GroupsOutside(const Cluster& cluster, const Island& a,
                            const Island& b) {
  std::vector<bool> is_inside(cluster.nodes.size());
  for (const int node : a.nodes) is_inside[node] = true;
  for (const int node : b.nodes) is_inside[node] = true;
  std::set<int> outside;
  for (size_t node = 0; node < cluster.nodes.size(); ++node) {
    if (!is_inside[node]) outside.insert(cluster.nodes[node].group);
  }
  return outside;
}

// Returns whether no link changes. A link inside a group counts even if the
// group has one node, so some alike islands may be told apart.
bool HaveEqualLinks(const Cluster& cluster, const GroupPairs& swapped,
                    const std::set<int>& outside) {
  const auto& links = cluster.links;
  for (const auto& [a, b] : swapped) {
    for (const int group : outside) {
      if (links[a][group] != links[b][group] ||
          links[group][a] != links[group][b]) {
        return false;
      }
    }
    for (const auto& [c, d] : swapped) {
      if (links[a][c] != links[b][d] || links[a][d] != links[b][c]) {
        return false;
      }
    }
  }
  return true;
}

bool AreAlike(const Cluster& cluster, const Island& a, const Island& b) {
  if (!(a.spec == b.spec) || !HaveEqualNodes(cluster, a, b)) return false;
  return HaveEqualLinks(cluster, SwappedGroups(cluster, a, b),
                        GroupsOutside(cluster, a, b));
}

}  // namespace

std::vector<int> FirstAlike(const Cluster& cluster,
                            absl::Span<const Island> islands) {
  std::vector<int> first_alike;
  for (int island = 0; island < static_cast<int>(islands.size()); ++island) {
    int first = 0;
    while (first < island &&
           (first_alike[first] != first ||
            !AreAlike(cluster, islands[first], islands[island]))) {
      ++first;
    }
    first_alike.push_back(first);
  }
  return first_alike;
}

}  // namespace tangram
