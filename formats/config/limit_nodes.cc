#include "formats/config/limit_nodes.h"

#include <algorithm>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/domain/keep_nodes.h"

namespace tangram {
namespace {

absl::Status NodesError(absl::string_view group, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("nodes: ", absl::Utf8SafeCEscape(group), what));
}

// Returns the number of nodes to keep of each group of `cluster`.
absl::StatusOr<std::vector<int>> NodesToKeep(absl::Span<const NodeCount> counts,
                                             const Cluster& cluster) {
  const std::vector<int> available = NodesOfGroups(cluster);
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
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> keep,
                           NodesToKeep(counts, cluster));
  cluster = KeepNodes(cluster, keep);
  return absl::OkStatus();
}

}  // namespace tangram
