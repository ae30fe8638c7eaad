#include "common/sim/stage_placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "common/domain/weaker.h"

namespace tangram {
namespace {

// Node → number of the GPUs on it.
std::map<int, int> CountByNode(absl::Span<const GpuId> gpus) {
  std::map<int, int> counts;
  for (const GpuId& gpu : gpus) ++counts[gpu.node];
  return counts;
}

// Group → nodes of that group that the GPUs use. Nodes of a group are
// identical, so links and devices are looked up once per group.
std::map<int, std::vector<int>> NodesByGroup(
    const Cluster& cluster, const std::map<int, int>& count_by_node) {
  std::map<int, std::vector<int>> groups;
  for (const auto& [node, count] : count_by_node) {
    groups[cluster.nodes[node].group].push_back(node);
  }
  return groups;
}

// Returns the slowest link from a node of `from` to another node of `to`.
Link LinkBetweenSets(const Cluster& cluster,
                     const std::map<int, std::vector<int>>& from,
                     const std::map<int, std::vector<int>>& to) {
  std::optional<Link> slowest;
  for (const auto& [from_group, from_nodes] : from) {
    for (const auto& [to_group, to_nodes] : to) {
      const bool only_itself = from_nodes.size() == 1 && from_nodes == to_nodes;
      if (only_itself) continue;
      const Link& link = cluster.links[from_group][to_group];
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
  for (const auto& [group, nodes] : NodesByGroup(cluster, CountByNode(gpus))) {
    const DeviceSpec& device = cluster.nodes[nodes.front()].device;
    if (!(device == weakest)) weakest = Weaker(weakest, device);
  }
  return weakest;
}

StageWiring WiringOfGpus(const Cluster& cluster, absl::Span<const GpuId> gpus) {
  const std::map<int, int> counts = CountByNode(gpus);
  const std::map<int, std::vector<int>> groups = NodesByGroup(cluster, counts);
  StageWiring wiring{.gpus_per_node = AlignedBlock(gpus),
                     .intra_node = cluster.nodes[gpus.front().node].intra_node};
  for (const auto& [group, nodes] : groups) {
    wiring.intra_node =
        Weaker(wiring.intra_node, cluster.nodes[nodes.front()].intra_node);
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

TransferPath PathBetween(const Cluster& cluster, absl::Span<const GpuId> from,
                         absl::Span<const GpuId> to) {
  const std::map<int, int> from_counts = CountByNode(from);
  const std::map<int, int> to_counts = CountByNode(to);
  TransferPath path{.flows = static_cast<int>(std::min(from.size(), to.size())),
                    .node_pairs = static_cast<int>(
                        std::min(from_counts.size(), to_counts.size()))};
  const int first_node = from_counts.begin()->first;
  path.same_node = from_counts.size() == 1 && to_counts.size() == 1 &&
                   to_counts.begin()->first == first_node;
  const DeviceSpec& device = cluster.nodes[first_node].device;
  const DeviceSpec& other = cluster.nodes[to_counts.begin()->first].device;
  if (device.type == other.type) path.measured = device.collectives;
  path.link = path.same_node
                  ? cluster.nodes[first_node].intra_node
                  : LinkBetweenSets(cluster, NodesByGroup(cluster, from_counts),
                                    NodesByGroup(cluster, to_counts));
  return path;
}

}  // namespace tangram
