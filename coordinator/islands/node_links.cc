#include "coordinator/islands/node_links.h"

#include <algorithm>

namespace tangram {

double PairBandwidth(const Cluster& cluster, int group_a, int group_b) {
  return std::min(cluster.links[group_a][group_b].bandwidth_bytes_per_s,
                  cluster.links[group_b][group_a].bandwidth_bytes_per_s);
}

// Sorts the groups of all nodes and counts runs of equal ones.
std::vector<GroupShare> GroupsOf(const Cluster& cluster,
                                 absl::Span<const int> nodes) {
  std::vector<int> groups;
  for (const int node : nodes) groups.push_back(cluster.nodes[node].group);
  std::sort(groups.begin(), groups.end());
  std::vector<GroupShare> shares;
  for (const int group : groups) {
    if (shares.empty() || shares.back().group != group) {
      shares.push_back({.group = group});
    }
    ++shares.back().num_nodes;
  }
  return shares;
}

}  // namespace tangram
