#include "common/planner/keep_constraints.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"

namespace tangram {
namespace {

// Names by which constraints select nodes.
struct Names {
  std::set<std::string> nodes;  // Nodes and groups.
  std::set<std::string> kinds;  // Groups and types of GPU, in lower case.
};

Names NamesOf(const Cluster& cluster) {
  Names names;
  for (const Node& node : cluster.nodes) {
    const std::string& group = cluster.groups[node.group];
    names.nodes.insert(node.name);
    names.nodes.insert(group);
    names.kinds.insert(absl::AsciiStrToLower(group));
    names.kinds.insert(absl::AsciiStrToLower(node.device.type));
  }
  return names;
}

}  // namespace

PlanConstraints KeepConstraints(const Cluster& whole, const Cluster& kept,
                                PlanConstraints constraints) {
  if (constraints.none()) return constraints;
  const Names before = NamesOf(whole);
  const Names after = NamesOf(kept);
  std::erase_if(constraints.exclude_nodes, [&](const std::string& name) {
    return before.nodes.contains(name) && !after.nodes.contains(name);
  });
  const auto is_gone = [&](const std::string& island) {
    const std::string name = absl::AsciiStrToLower(island);
    return before.kinds.contains(name) && !after.kinds.contains(name);
  };
  std::erase_if(constraints.exclude_islands, is_gone);
  for (std::vector<IslandValue>* const values :
       {&constraints.tp_degrees, &constraints.dp_degrees,
        &constraints.cp_degrees, &constraints.max_stages}) {
    std::erase_if(*values, [&](const IslandValue& value) {
      return is_gone(value.island);
    });
  }
  return constraints;
}

}  // namespace tangram
