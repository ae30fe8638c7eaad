#include "coordinator/islands/build_islands.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/natural_order.h"
#include "common/domain/weaker.h"
#include "coordinator/islands/agglomerate.h"
#include "coordinator/islands/homogeneous_classes.h"
#include "coordinator/islands/island_reasons.h"
#include "coordinator/islands/island_spec.h"
#include "coordinator/islands/merge_parts.h"
#include "coordinator/islands/node_links.h"
#include "coordinator/islands/sort_by_runs.h"

namespace tangram {
namespace {

// Returns the nodes that are not left out, by name. Names are unique, so the
// result does not depend on the order in the cluster.
std::vector<int> NodesByName(const Cluster& cluster,
                             absl::Span<const int> left_out) {
  std::vector<bool> is_left_out(cluster.nodes.size());
  for (const int node : left_out) is_left_out[node] = true;
  std::vector<int> nodes;
  for (int node = 0; node < static_cast<int>(cluster.nodes.size()); ++node) {
    if (!is_left_out[node]) nodes.push_back(node);
  }
  SortByRuns(nodes, [&](int a, int b) {
    return NaturalLess(cluster.nodes[a].name, cluster.nodes[b].name);
  });
  return nodes;
}

// Returns, for each node of the cluster, its position in `by_name`.
std::vector<int> RanksOf(const Cluster& cluster,
                         absl::Span<const int> by_name) {
  std::vector<int> rank(cluster.nodes.size());
  for (size_t i = 0; i < by_name.size(); ++i) {
    rank[by_name[i]] = static_cast<int>(i);
  }
  return rank;
}

// Divides each class by its links (step 3 of paper §4.1). Sorts the nodes of
// each part, and the parts by their first nodes, by `rank`. Empty if
// `should_stop` returned true.
std::vector<Part> PartsByName(const Cluster& cluster,
                              absl::Span<const HomogeneousClass> classes,
                              absl::Span<const int> rank, double link_tolerance,
                              const std::function<bool()>& should_stop) {
  const auto before = [&](int a, int b) { return rank[a] < rank[b]; };
  std::vector<Part> parts;
  for (size_t c = 0; c < classes.size(); ++c) {
    if (should_stop && should_stop()) return {};
    for (std::vector<int>& nodes : AgglomerateByLinks(
             cluster, classes[c].nodes, link_tolerance, should_stop)) {
      SortByRuns(nodes, before);
      parts.push_back({.nodes = std::move(nodes),
                       .homogeneous_class = static_cast<int>(c)});
    }
  }
  std::sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) {
    return before(a.nodes.front(), b.nodes.front());
  });
  return parts;
}

// Returns the island of `nodes`, named by its GPUs: "T4 x8".
Island IslandOf(const Cluster& cluster, std::vector<int> nodes, int id) {
  Island island{.id = id, .nodes = std::move(nodes)};
  island.spec = WeakestSpec(cluster, island.nodes);
  island.name =
      absl::StrCat(island.spec.device.type, " x", island.spec.num_gpus());
  return island;
}

// Explains why `num_parts` parts are one island, and what that costs.
std::string MergedReason(const Cluster& cluster, const Island& island,
                         int num_parts, int max_islands) {
  int num_gpus = 0;
  for (const int node : island.nodes) num_gpus += cluster.nodes[node].num_gpus;
  std::string reason =
      absl::StrCat(num_parts, " islands merged, since at most ", max_islands,
                   " are planned for: every GPU counts as the weakest of them");
  if (num_gpus > island.spec.num_gpus()) {
    absl::StrAppend(&reason, ", and ", num_gpus - island.spec.num_gpus(),
                    " GPUs of nodes with more than ", island.spec.gpus_per_node,
                    " are not used");
  }
  return reason;
}

}  // namespace

// Runs the steps of paper §4.1: classes of like nodes (steps 1 and 2), parts of
// each class by links (step 3). Then it merges parts beyond the limit, which
// the paper does not need, and names and explains the islands that result.
absl::StatusOr<IslandSet> BuildIslands(const Cluster& cluster,
                                       Precision precision,
                                       const IslandTolerances& tolerances,
                                       absl::Span<const int> left_out,
                                       const IslandLimits& limits) {
  const std::vector<int> by_name = NodesByName(cluster, left_out);
  const std::vector<HomogeneousClass> classes =
      SplitIntoClasses(cluster, by_name, precision, tolerances);
  const std::vector<int> rank = RanksOf(cluster, by_name);
  std::vector<Part> parts = PartsByName(
      cluster, classes, rank, tolerances.inter_node, limits.should_stop);
  const size_t num_parts = parts.size();
  parts = MergeParts(cluster, precision, limits, std::move(parts));
  // Merging ends early only if it was told to stop.
  const bool merged_all =
      parts.size() <= static_cast<size_t>(std::max(limits.max_islands, 1));
  if (!merged_all || (limits.should_stop && limits.should_stop())) {
    return absl::CancelledError("planning stopped");
  }
  IslandSet set;
  std::vector<int> class_of;
  for (Part& part : parts) {
    SortByRuns(part.nodes, [&](int a, int b) { return rank[a] < rank[b]; });
    set.islands.push_back(IslandOf(cluster, std::move(part.nodes),
                                   static_cast<int>(set.islands.size())));
    class_of.push_back(part.homogeneous_class);
  }
  ExplainIslands(cluster, classes, class_of, precision, tolerances,
                 set.islands);
  if (parts.size() == num_parts) return set;
  set.merged = true;
  // A merged island has its own reason, instead of what separates it from
  // others.
  std::vector<std::string> merged;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].num_merged == 1) continue;
    Island& island = set.islands[i];
    island.reason =
        MergedReason(cluster, island, parts[i].num_merged, limits.max_islands);
    merged.push_back(absl::StrCat(island.name, " of ", parts[i].num_merged));
  }
  set.notes.push_back(absl::StrCat(
      num_parts, " islands were merged into ", parts.size(), ", the most that ",
      "are planned for, those first whose union loses least compute, memory ",
      "and link speed: ", absl::StrJoin(merged, ", ")));
  return set;
}

// Links are given between groups of nodes, so groups stand for their nodes.
Link LinkBetweenIslands(const Cluster& cluster, const Island& from,
                        const Island& to) {
  const std::vector<GroupShare> to_groups = GroupsOf(cluster, to.nodes);
  std::optional<Link> slowest;
  for (const GroupShare& a : GroupsOf(cluster, from.nodes)) {
    for (const GroupShare& b : to_groups) {
      const Link& link = cluster.links[a.group][b.group];
      slowest = slowest.has_value() ? Weaker(*slowest, link) : link;
    }
  }
  return slowest.value_or(Link());
}

}  // namespace tangram
