#include "common/domain/keep_nodes.h"

#include <set>

#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

std::set<std::string> MemoryFieldsOf(const Cluster& cluster) {
  std::set<std::string> fields;
  for (const Node& node : cluster.nodes) {
    fields.insert(MemoryFieldOf(node.device.type));
  }
  return fields;
}

// Returns the assumptions without those about groups that are left out.
std::vector<Assumption> AssumptionsOfRest(const Cluster& cluster,
                                          absl::Span<const int> keep) {
  std::set<std::string> gone;  // "[t4]", "[t4 to v100]"
  for (size_t g = 0; g < keep.size(); ++g) {
    if (keep[g] > 0) continue;
    gone.insert(absl::StrCat("[", cluster.groups[g], "]"));
    for (const std::string& other : cluster.groups) {
      gone.insert(absl::StrCat("[", cluster.groups[g], " to ", other, "]"));
      gone.insert(absl::StrCat("[", other, " to ", cluster.groups[g], "]"));
    }
  }
  std::vector<Assumption> rest;
  for (const Assumption& assumption : cluster.assumptions) {
    const size_t begin = assumption.field.find('[');
    const size_t end = assumption.field.find(']');
    if (begin == std::string::npos || end == std::string::npos ||
        !gone.contains(assumption.field.substr(begin, end - begin + 1))) {
      rest.push_back(assumption);
    }
  }
  return rest;
}

}  // namespace

std::string MemoryFieldOf(absl::string_view gpu_type) {
  return absl::StrCat("memory of ", gpu_type);
}

std::vector<int> GpusOfNodes(const Cluster& cluster) {
  std::vector<int> gpus(cluster.groups.size(), 0);
  for (const Node& node : cluster.nodes) gpus[node.group] = node.num_gpus;
  return gpus;
}

std::vector<int> NodesOfGroups(const Cluster& cluster) {
  std::vector<int> nodes(cluster.groups.size(), 0);
  for (const Node& node : cluster.nodes) ++nodes[node.group];
  return nodes;
}

Cluster KeepNodes(const Cluster& cluster, absl::Span<const int> counts) {
  std::vector<int> new_index(counts.size(), -1);
  std::vector<int> kept_groups;
  for (size_t g = 0; g < counts.size(); ++g) {
    if (counts[g] == 0) continue;
    new_index[g] = static_cast<int>(kept_groups.size());
    kept_groups.push_back(static_cast<int>(g));
  }
  Cluster kept{.name = cluster.name,
               .assumptions = AssumptionsOfRest(cluster, counts)};
  for (const int from : kept_groups) {
    kept.groups.push_back(cluster.groups[from]);
    std::vector<Link>& row = kept.links.emplace_back();
    for (const int to : kept_groups) row.push_back(cluster.links[from][to]);
  }
  std::vector<int> left(counts.begin(), counts.end());
  for (const Node& node : cluster.nodes) {
    if (left[node.group]-- <= 0) continue;
    kept.nodes.push_back(node);
    kept.nodes.back().group = new_index[node.group];
  }
  const std::set<std::string> before = MemoryFieldsOf(cluster);
  const std::set<std::string> after = MemoryFieldsOf(kept);
  std::erase_if(kept.assumptions, [&](const Assumption& assumption) {
    return before.contains(assumption.field) &&
           !after.contains(assumption.field);
  });
  return kept;
}

}  // namespace tangram
