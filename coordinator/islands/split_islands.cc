#include "coordinator/islands/split_islands.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/islands/island_spec.h"

namespace tangram {
namespace {

// Up to this many groups of an island, all set partitions are tried: 5 of three
// groups, 15 of four.
constexpr int kMostGroupsCombined = 3;

// A set partition of the groups of an island: a part for each group, in the
// order of the groups.
using Parts = std::vector<int>;

int NumParts(const Parts& parts) {
  return 1 + *std::max_element(parts.begin(), parts.end());
}

// The nodes of an island by group.
std::map<int, std::vector<int>> NodesByGroup(const Cluster& cluster,
                                             const Island& island) {
  std::map<int, std::vector<int>> groups;
  for (const int node : island.nodes) {
    groups[cluster.nodes[node].group].push_back(node);
  }
  return groups;
}

// Returns the bandwidth of the slowest link that a parallelizer sees.
double SlowestLink(const IslandSpec& spec) {
  return spec.num_nodes > 1 ? std::min(spec.inter_node.bandwidth_bytes_per_s,
                                       spec.intra_node.bandwidth_bytes_per_s)
                            : spec.intra_node.bandwidth_bytes_per_s;
}

// Adds all continuations of `parts` to `num_groups` groups. Every set partition
// is found once: a group joins an earlier part or begins the next one.
void AddPartitions(int num_groups, Parts parts, std::vector<Parts>& all) {
  if (static_cast<int>(parts.size()) == num_groups) {
    all.push_back(std::move(parts));
    return;
  }
  for (int part = 0; part <= NumParts(parts); ++part) {
    parts.push_back(part);
    AddPartitions(num_groups, parts, all);
    parts.pop_back();
  }
}

// Returns the ways to divide one island. One of them leaves it whole.
std::vector<Parts> PartitionsOf(const Cluster& cluster, const Island& island) {
  const auto groups = NodesByGroup(cluster, island);
  const auto num_groups = static_cast<int>(groups.size());
  Parts whole(num_groups, 0);
  const bool gains =
      std::any_of(groups.begin(), groups.end(), [&](const auto& group) {
        return SlowestLink(WeakestSpec(cluster, group.second)) >
               SlowestLink(island.spec);
      });
  if (num_groups == 1 || !gains) return {whole};
  std::vector<Parts> all;
  if (num_groups <= kMostGroupsCombined) {
    AddPartitions(num_groups, {0}, all);
    return all;
  }
  Parts single;
  for (int g = 0; g < num_groups; ++g) single.push_back(g);
  return {whole, single};
}

// Marks the nodes of an island by the parts of their groups.
void Mark(const Cluster& cluster, const Island& island, const Parts& parts,
          IslandSplit& split) {
  int group = 0;
  for (const auto& [id, nodes] : NodesByGroup(cluster, island)) {
    for (const int node : nodes) split[node] = parts[group];
    ++group;
  }
}

}  // namespace

std::vector<IslandSplit> IslandSplits(const Cluster& cluster,
                                      absl::Span<const Island> islands) {
  // Each split with its number of islands. The first leaves all whole.
  std::vector<std::pair<int, IslandSplit>> splits = {
      {0, IslandSplit(cluster.nodes.size(), 0)}};
  for (const Island& island : islands) {
    const std::vector<Parts> partitions = PartitionsOf(cluster, island);
    std::vector<std::pair<int, IslandSplit>> extended;
    for (const auto& [num_islands, split] : splits) {
      for (const Parts& parts : partitions) {
        const int more = num_islands + NumParts(parts);
        if (more > kMaxSplitIslands) continue;
        extended.push_back({more, split});
        Mark(cluster, island, parts, extended.back().second);
      }
    }
    splits = std::move(extended);
  }
  std::stable_sort(
      splits.begin(), splits.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<IslandSplit> result;
  for (auto& [num_islands, split] : splits) {
    const bool divides = num_islands > static_cast<int>(islands.size());
    if (!divides || result.size() == kMaxIslandSplits) break;
    result.push_back(std::move(split));
  }
  return result;
}

std::vector<Island> SplitIslands(const Cluster& cluster,
                                 absl::Span<const Island> islands,
                                 const IslandSplit& split) {
  std::vector<Island> result;
  for (const Island& island : islands) {
    std::map<int, std::vector<int>> parts;
    for (const int node : island.nodes) parts[split[node]].push_back(node);
    for (auto& [mark, nodes] : parts) {
      Island& part = result.emplace_back(island);
      part.id = static_cast<int>(result.size()) - 1;
      if (parts.size() == 1) continue;
      part.nodes = std::move(nodes);
      part.spec = WeakestSpec(cluster, part.nodes);
      part.name =
          absl::StrCat(part.spec.device.type, " x", part.spec.num_gpus());
      part.reason = absl::StrCat("a part of ", island.name,
                                 ", whose links between groups of nodes are "
                                 "slower than those inside a group");
    }
  }
  return result;
}

}  // namespace tangram
