#include "formats/config/limit_nodes.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

absl::Status NodesError(absl::string_view group, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("nodes: ", absl::Utf8SafeCEscape(group), what));
}

// Returns the number of nodes to keep of each group of `cluster`.
absl::StatusOr<std::vector<int>> NodesToKeep(absl::Span<const NodeCount> counts,
                                             const Cluster& cluster) {
  std::vector<int> available(cluster.groups.size(), 0);
  for (const Node& node : cluster.nodes) ++available[node.group];

  std::vector<int> keep = available;
  std::vector<bool> named(cluster.groups.size(), false);
  for (const auto& [group, count] : counts) {
    const auto it = absl::c_find(cluster.groups, group);
    if (it == cluster.groups.end()) {
      return NodesError(group,
                        absl::StrCat("; expected one of the groups ",
                                     absl::StrJoin(cluster.groups, ", ")));
    }
    const size_t g = it - cluster.groups.begin();
    if (named[g]) return NodesError(group, "; expected each group once");
    if (count < 0 || count > available[g]) {
      return NodesError(group, absl::StrCat("=", count, "; expected 0 to ",
                                            available[g], " nodes"));
    }
    named[g] = true;
    keep[g] = count;
  }
  if (std::accumulate(keep.begin(), keep.end(), 0) == 0) {
    return absl::InvalidArgumentError(
        "nodes: none left; expected at least one node");
  }
  return keep;
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

absl::StatusOr<std::vector<NodeCount>> ParseNodeCounts(absl::string_view text) {
  std::vector<NodeCount> counts;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    int count = 0;
    if (sides.first.empty() || !absl::SimpleAtoi(sides.second, &count)) {
      return NodesError(part, "; expected <group>=<number>, such as t4=2");
    }
    counts.emplace_back(sides.first, count);
  }
  return counts;
}

absl::Status LimitNodes(absl::Span<const NodeCount> counts, Cluster& cluster) {
  TANGRAM_ASSIGN_OR_RETURN(std::vector<int> keep, NodesToKeep(counts, cluster));
  std::vector<int> new_index(cluster.groups.size(), -1);
  std::vector<int> kept_groups;
  for (size_t g = 0; g < keep.size(); ++g) {
    if (keep[g] == 0) continue;
    new_index[g] = static_cast<int>(kept_groups.size());
    kept_groups.push_back(static_cast<int>(g));
  }

  Cluster limited{.name = cluster.name,
                  .assumptions = AssumptionsOfRest(cluster, keep)};
  for (const int from : kept_groups) {
    limited.groups.push_back(cluster.groups[from]);
    std::vector<Link>& row = limited.links.emplace_back();
    for (const int to : kept_groups) row.push_back(cluster.links[from][to]);
  }
  for (Node& node : cluster.nodes) {
    if (keep[node.group]-- <= 0) continue;
    limited.nodes.push_back(std::move(node));
    limited.nodes.back().group = new_index[limited.nodes.back().group];
  }
  cluster = std::move(limited);
  return absl::OkStatus();
}

}  // namespace tangram
