#include "coordinator/islands/island_spec.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/domain/weaker.h"
#include "coordinator/islands/node_links.h"

namespace tangram {
namespace {

// Returns the GPU types of `nodes`, sorted: "A100-80/H100".
std::string TypesOf(const Cluster& cluster, absl::Span<const int> nodes) {
  std::set<std::string> types;
  for (const int node : nodes) types.insert(cluster.nodes[node].device.type);
  return absl::StrJoin(types, "/");
}

// Returns the slowest link between two different nodes of `nodes`, in either
// direction. A group with one node in `nodes` has no inner link.
Link SlowestInside(const Cluster& cluster, absl::Span<const int> nodes) {
  const std::vector<GroupShare> groups = GroupsOf(cluster, nodes);
  std::optional<Link> slowest;
  for (const GroupShare& a : groups) {
    for (const GroupShare& b : groups) {
      if (a.group == b.group && a.num_nodes == 1) continue;
      const Link& link = cluster.links[a.group][b.group];
      slowest = slowest.has_value() ? Weaker(*slowest, link) : link;
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
    spec.gpus_per_node = std::min(spec.gpus_per_node, node.num_gpus);
    spec.device = Weaker(spec.device, node.device);
    spec.intra_node = Weaker(spec.intra_node, node.intra_node);
  }
  spec.device.type = TypesOf(cluster, nodes);
  if (nodes.size() > 1) spec.inter_node = SlowestInside(cluster, nodes);
  return spec;
}

}  // namespace tangram
