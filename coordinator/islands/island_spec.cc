#include "coordinator/islands/island_spec.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "coordinator/islands/node_links.h"

namespace tangram {
namespace {

DeviceEfficiency Weaker(const DeviceEfficiency& a, const DeviceEfficiency& b) {
  return {
      .gemm_max_fraction = std::min(a.gemm_max_fraction, b.gemm_max_fraction),
      .gemm_half_flops = std::max(a.gemm_half_flops, b.gemm_half_flops),
      .attention_fraction =
          std::min(a.attention_fraction, b.attention_fraction),
      .memory_fraction = std::min(a.memory_fraction, b.memory_fraction),
      .kernel_launch_s = std::max(a.kernel_launch_s, b.kernel_launch_s),
      .reserved_bytes = std::max(a.reserved_bytes, b.reserved_bytes),
      .fragmentation = std::max(a.fragmentation, b.fragmentation)};
}

// Only operators measured on both: the analytic model stands for the others on
// either device alike.
std::vector<MeasuredOperator> Weaker(absl::Span<const MeasuredOperator> a,
                                     absl::Span<const MeasuredOperator> b) {
  std::vector<MeasuredOperator> common;
  size_t j = 0;
  for (const MeasuredOperator& op : a) {
    while (j < b.size() && b[j].key < op.key) ++j;
    if (j == b.size() || b[j].key != op.key) continue;
    common.push_back({.key = op.key,
                      .forward_s = std::max(op.forward_s, b[j].forward_s),
                      .backward_s = std::max(op.backward_s, b[j].backward_s)});
  }
  return common;
}

DeviceSpec Weaker(const DeviceSpec& a, const DeviceSpec& b) {
  if (a == b) return a;
  return {.type = a.type,
          .peak_flops = {.fp32 = std::min(a.peak_flops.fp32, b.peak_flops.fp32),
                         .fp16 = std::min(a.peak_flops.fp16, b.peak_flops.fp16),
                         .bf16 = std::min(a.peak_flops.bf16, b.peak_flops.bf16),
                         .fp8 = std::min(a.peak_flops.fp8, b.peak_flops.fp8)},
          .memory_bytes = std::min(a.memory_bytes, b.memory_bytes),
          .memory_bandwidth_bytes_per_s = std::min(
              a.memory_bandwidth_bytes_per_s, b.memory_bandwidth_bytes_per_s),
          .supports_flash_attention =
              a.supports_flash_attention && b.supports_flash_attention,
          .efficiency = Weaker(a.efficiency, b.efficiency),
          .measured = Weaker(a.measured, b.measured)};
}

std::string TypesOf(const Cluster& cluster, absl::Span<const int> nodes) {
  std::set<std::string> types;
  for (const int node : nodes) types.insert(cluster.nodes[node].device.type);
  return absl::StrJoin(types, "/");
}

// The slowest link between two different nodes of `nodes`, either direction.
Link SlowestInside(const Cluster& cluster, absl::Span<const int> nodes) {
  const std::vector<GroupShare> groups = GroupsOf(cluster, nodes);
  std::optional<Link> slowest;
  for (const GroupShare& a : groups) {
    for (const GroupShare& b : groups) {
      if (a.group == b.group && a.num_nodes == 1) continue;
      const Link& link = cluster.links[a.group][b.group];
      slowest = slowest.has_value() ? WeakerLink(*slowest, link) : link;
    }
  }
  return slowest.value_or(Link());
}

}  // namespace

IslandSpec WeakestSpec(const Cluster& cluster, absl::Span<const int> nodes) {
  const Node& first = cluster.nodes[nodes.front()];
  IslandSpec spec{.device = first.device,
                  .num_nodes = static_cast<int>(nodes.size()),
                  .gpus_per_node = first.num_gpus,
                  .intra_node = first.intra_node};
  for (const int index : nodes) {
    const Node& node = cluster.nodes[index];
    spec.device = Weaker(spec.device, node.device);
    spec.intra_node = WeakerLink(spec.intra_node, node.intra_node);
  }
  spec.device.type = TypesOf(cluster, nodes);
  if (nodes.size() > 1) spec.inter_node = SlowestInside(cluster, nodes);
  return spec;
}

}  // namespace tangram
