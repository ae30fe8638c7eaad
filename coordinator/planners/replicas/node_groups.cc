#include "coordinator/planners/replicas/node_groups.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"

namespace tangram {
namespace {

bool IsEmpty(const NodeGroup& group) {
  return absl::c_all_of(group, [](int nodes) { return nodes == 0; });
}

int NumIslands(const NodeGroup& group) {
  return static_cast<int>(
      absl::c_count_if(group, [](int nodes) { return nodes > 0; }));
}

// Returns the partition in order and without empty groups.
Partition Ordered(Partition partition) {
  std::erase_if(partition, IsEmpty);
  absl::c_sort(partition);
  return partition;
}

class Neighbours {
 public:
  Neighbours(const Partition& partition, int max_groups)
      : partition_(partition), max_groups_(max_groups) {}

  std::vector<Partition> All() && {
    for (size_t g = 0; g < partition_.size(); ++g) {
      for (size_t i = 0; i < partition_[g].size(); ++i) {
        if (partition_[g][i] == 0) continue;
        MoveIsland(g, i);
        if (NumIslands(partition_[g]) == 1) Divide(g, i);
      }
      for (size_t h = g + 1; h < partition_.size(); ++h) Merge(g, h);
    }
    absl::c_sort(found_);
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return std::move(found_);
  }

 private:
  void Add(Partition partition) {
    partition = Ordered(std::move(partition));
    if (partition == partition_) return;
    if (static_cast<int>(partition.size()) > max_groups_) return;
    found_.push_back(std::move(partition));
  }

  void Merge(size_t g, size_t h) {
    Partition merged = partition_;
    for (size_t i = 0; i < merged[g].size(); ++i) {
      merged[g][i] += std::exchange(merged[h][i], 0);
    }
    Add(std::move(merged));
  }

  // Moves the nodes of island `i` from a group to each other one, or apart.
  void MoveIsland(size_t g, size_t i) {
    Partition moved = partition_;
    const int nodes = std::exchange(moved[g][i], 0);
    for (size_t h = 0; h < partition_.size(); ++h) {
      if (h == g) continue;
      Partition to = moved;
      to[h][i] += nodes;
      Add(std::move(to));
    }
    moved.emplace_back(partition_[g].size())[i] = nodes;
    Add(std::move(moved));
  }

  void Divide(size_t g, size_t i) {
    const unsigned nodes = partition_[g][i];
    for (const unsigned part : {nodes / 2, std::bit_floor(nodes)}) {
      if (part == 0 || part == nodes) continue;
      Partition divided = partition_;
      divided[g][i] = static_cast<int>(part);
      divided.emplace_back(partition_[g].size())[i] =
          static_cast<int>(nodes - part);
      Add(std::move(divided));
    }
  }

  const Partition& partition_;
  const int max_groups_;
  std::vector<Partition> found_;
};

// Returns the numbers of nodes that blocks of an island have, with or without
// the nodes that are left over; ascending, from 0.
std::vector<int> PartsOf(int num_nodes, int block) {
  std::vector<int> parts;
  for (int n = 0; n <= num_nodes; n += block) {
    parts.push_back(n);
    parts.push_back(num_nodes - n);
  }
  absl::c_sort(parts);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

// Returns the number of groups, also of none and all nodes; at most about
// `most` times the parts of an island.
int64_t NumGroups(absl::Span<const std::vector<int>> parts, int64_t most) {
  int64_t number = 1;
  for (const std::vector<int>& of_island : parts) {
    number *= static_cast<int64_t>(of_island.size());
    if (number > most) break;
  }
  return number;
}

}  // namespace

std::vector<NodeGroup> CoarseGroups(absl::Span<const Island> islands,
                                    int most_groups) {
  std::vector<std::vector<int>> parts;
  std::vector<int> blocks(islands.size(), 1);
  for (const Island& island : islands) {
    parts.push_back(PartsOf(static_cast<int>(island.nodes.size()), 1));
  }
  // Two of the groups have no nodes or all.
  while (NumGroups(parts, most_groups + 2) > most_groups + 2) {
    const size_t i = absl::c_max_element(parts,
                                         [](const auto& a, const auto& b) {
                                           return a.size() < b.size();
                                         }) -
                     parts.begin();
    if (parts[i].size() <= 2) break;
    blocks[i] *= 2;
    parts[i] = PartsOf(static_cast<int>(islands[i].nodes.size()), blocks[i]);
  }
  std::vector<NodeGroup> groups = {{}};
  for (const std::vector<int>& of_island : parts) {
    std::vector<NodeGroup> longer;
    for (const NodeGroup& group : groups) {
      for (const int nodes : of_island) {
        longer.push_back(group);
        longer.back().push_back(nodes);
      }
      // Some islands have to be left out if they are very many.
      if (static_cast<int>(longer.size()) > 16 * most_groups) break;
    }
    groups = std::move(longer);
  }
  std::erase_if(groups, IsEmpty);
  if (!groups.empty()) groups.pop_back();  // All nodes, the greatest.
  return groups;
}

std::vector<Partition> EqualPartitions(absl::Span<const Island> islands,
                                       int max_groups) {
  std::vector<Partition> partitions;
  for (int k = 2; k <= max_groups; ++k) {
    NodeGroup part;
    for (const Island& island : islands) {
      if (island.nodes.size() % k != 0) break;
      part.push_back(static_cast<int>(island.nodes.size()) / k);
    }
    if (part.size() < islands.size()) continue;
    partitions.emplace_back(k, part);
  }
  return partitions;
}

std::vector<Partition> FirstPartitions(absl::Span<const Island> islands) {
  Partition alone;
  Partition by_type;
  std::vector<const DeviceSpec*> types;
  for (size_t i = 0; i < islands.size(); ++i) {
    NodeGroup group(islands.size());
    group[i] = static_cast<int>(islands[i].nodes.size());
    const DeviceSpec& device = islands[i].spec.device;
    const auto same = absl::c_find_if(
        types, [&](const DeviceSpec* type) { return *type == device; });
    if (same == types.end()) {
      types.push_back(&device);
      by_type.push_back(group);
    } else {
      by_type[same - types.begin()][i] = group[i];
    }
    alone.push_back(std::move(group));
  }
  std::vector<Partition> first = {Ordered(std::move(alone))};
  by_type = Ordered(std::move(by_type));
  if (by_type != first.front()) first.push_back(std::move(by_type));
  return first;
}

std::vector<Partition> NeighboursOf(const Partition& partition,
                                    int max_groups) {
  return Neighbours(partition, max_groups).All();
}

}  // namespace tangram
