#include "common/sim/stage_placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "common/domain/weaker.h"

namespace tangram {
namespace {

using GroupNodes = PathEnd::GroupNodes;

// Node → number of the GPUs on it.
std::map<int, int> CountByNode(absl::Span<const GpuId> gpus) {
  std::map<int, int> counts;
  int last_node = -1;
  int* count = nullptr;
  for (const GpuId& gpu : gpus) {
    if (count == nullptr || gpu.node != last_node) count = &counts[gpu.node];
    last_node = gpu.node;
    ++*count;
  }
  return counts;
}

// Returns the groups of the nodes, ascending. Nodes of a group are identical,
// so links and devices are looked up once per group.
std::vector<GroupNodes> NodesByGroup(const Cluster& cluster,
                                     const std::map<int, int>& count_by_node) {
  std::map<int, GroupNodes> groups;
  for (const auto& [node, count] : count_by_node) {
    const int group = cluster.nodes[node].group;
    GroupNodes& nodes =
        groups
            .try_emplace(group, GroupNodes{.group = group, .first_node = node})
            .first->second;
    ++nodes.num_nodes;
  }
  std::vector<GroupNodes> ascending;
  for (const auto& [group, nodes] : groups) ascending.push_back(nodes);
  return ascending;
}

// Returns the slowest link from a node of `from` to another node of `to`.
Link LinkBetweenSets(const Cluster& cluster, absl::Span<const GroupNodes> from,
                     absl::Span<const GroupNodes> to) {
  std::optional<Link> slowest;
  for (const GroupNodes& a : from) {
    for (const GroupNodes& b : to) {
      const bool only_itself =
          a.num_nodes == 1 && b.num_nodes == 1 && a.first_node == b.first_node;
      if (only_itself) continue;
      const Link& link = cluster.links[a.group][b.group];
      slowest = slowest.has_value() ? Weaker(*slowest, link) : link;
    }
  }
  return slowest.value_or(Link());
}

// Returns the size of the largest block of adjacent ranks that never straddles
// two nodes: the greatest common divisor of the runs of ranks on one node.
int AlignedBlock(absl::Span<const GpuId> gpus) {
  int block = 0;
  int run = 0;
  for (size_t i = 0; i < gpus.size(); ++i) {
    ++run;
    if (i + 1 < gpus.size() && gpus[i + 1].node == gpus[i].node) continue;
    block = std::gcd(block, run);
    run = 0;
  }
  return block;
}

}  // namespace

DeviceSpec WeakestDevice(const Cluster& cluster, absl::Span<const GpuId> gpus) {
  DeviceSpec weakest = cluster.nodes[gpus.front().node].device;
  for (const GroupNodes& nodes : NodesByGroup(cluster, CountByNode(gpus))) {
    const DeviceSpec& device = cluster.nodes[nodes.first_node].device;
    if (!(device == weakest)) weakest = Weaker(weakest, device);
  }
  return weakest;
}

StageWiring WiringOfGpus(const Cluster& cluster, absl::Span<const GpuId> gpus) {
  const std::map<int, int> counts = CountByNode(gpus);
  const std::vector<GroupNodes> groups = NodesByGroup(cluster, counts);
  StageWiring wiring{.gpus_per_node = AlignedBlock(gpus),
                     .intra_node = cluster.nodes[gpus.front().node].intra_node};
  for (const GroupNodes& nodes : groups) {
    wiring.intra_node =
        Weaker(wiring.intra_node, cluster.nodes[nodes.first_node].intra_node);
  }
  if (counts.size() == 1) return wiring;

  int blocks_per_node = 1;
  for (const auto& [node, count] : counts) {
    blocks_per_node = std::max(blocks_per_node, count / wiring.gpus_per_node);
  }
  Link& network = wiring.inter_node;
  network = LinkBetweenSets(cluster, groups, groups);
  network.bandwidth_bytes_per_s /= blocks_per_node;
  network.pair_bandwidth_bytes_per_s = std::min(
      network.pair_bandwidth_bytes_per_s, network.bandwidth_bytes_per_s);
  return wiring;
}

PlacedGpus PlacedGpusOf(const Cluster& cluster, absl::Span<const GpuId> gpus) {
  return {.device = WeakestDevice(cluster, gpus),
          .wiring = WiringOfGpus(cluster, gpus)};
}

StageEnvironment PlacedGpus::Environment(const TrainingOptions& training,
                                         int pipeline_microbatch_size) const {
  return EnvironmentOn(device, wiring, training, pipeline_microbatch_size);
}

StageEnvironment EnvironmentOn(const DeviceSpec& device,
                               const StageWiring& wiring,
                               const TrainingOptions& training,
                               int pipeline_microbatch_size) {
  StageEnvironment environment{
      .device = device,
      .training = training,
      .wiring = wiring,
      .pipeline_microbatch_size = pipeline_microbatch_size};
  environment.wiring.measured = device.collectives;
  return environment;
}

PathEnd PathEndOf(const Cluster& cluster, absl::Span<const GpuId> gpus) {
  const std::map<int, int> counts = CountByNode(gpus);
  return {.num_gpus = static_cast<int>(gpus.size()),
          .num_nodes = static_cast<int>(counts.size()),
          .first_node = counts.begin()->first,
          .groups = NodesByGroup(cluster, counts)};
}

TransferPath PathBetween(const Cluster& cluster, const PathEnd& from,
                         const PathEnd& to) {
  TransferPath path{.flows = std::min(from.num_gpus, to.num_gpus),
                    .node_pairs = std::min(from.num_nodes, to.num_nodes)};
  path.same_node = from.num_nodes == 1 && to.num_nodes == 1 &&
                   from.first_node == to.first_node;
  const DeviceSpec& device = cluster.nodes[from.first_node].device;
  const DeviceSpec& other = cluster.nodes[to.first_node].device;
  if (device.type == other.type) path.measured = device.collectives;
  path.link = path.same_node ? cluster.nodes[from.first_node].intra_node
                             : LinkBetweenSets(cluster, from.groups, to.groups);
  return path;
}

TransferPath PathBetween(const Cluster& cluster, absl::Span<const GpuId> from,
                         absl::Span<const GpuId> to) {
  return PathBetween(cluster, PathEndOf(cluster, from), PathEndOf(cluster, to));
}

}  // namespace tangram
