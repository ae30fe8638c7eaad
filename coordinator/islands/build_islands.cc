#include "coordinator/islands/build_islands.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/base/natural_order.h"
#include "common/domain/weaker.h"
#include "coordinator/islands/agglomerate.h"
#include "coordinator/islands/homogeneous_classes.h"
#include "coordinator/islands/island_reasons.h"
#include "coordinator/islands/island_spec.h"
#include "coordinator/islands/node_links.h"

namespace tangram {
namespace {

// Names are unique, so this order does not depend on the order in the cluster.
std::vector<int> NodesByName(const Cluster& cluster,
                             absl::Span<const int> left_out) {
  std::vector<int> nodes(cluster.nodes.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  if (!left_out.empty()) {
    std::erase_if(
        nodes, [&](int node) { return absl::c_linear_search(left_out, node); });
  }
  std::sort(nodes.begin(), nodes.end(), [&](int a, int b) {
    return NaturalLess(cluster.nodes[a].name, cluster.nodes[b].name);
  });
  return nodes;
}

struct Part {
  std::vector<int> nodes;
  int homogeneous_class = 0;
};

// Each part's nodes, and the parts by their first nodes, in the order of
// `by_name`.
std::vector<Part> PartsByName(const Cluster& cluster,
                              absl::Span<const HomogeneousClass> classes,
                              absl::Span<const int> by_name,
                              double link_tolerance) {
  std::vector<int> rank(cluster.nodes.size());
  for (size_t i = 0; i < by_name.size(); ++i) {
    rank[by_name[i]] = static_cast<int>(i);
  }
  const auto before = [&](int a, int b) { return rank[a] < rank[b]; };
  std::vector<Part> parts;
  for (size_t c = 0; c < classes.size(); ++c) {
    for (std::vector<int>& nodes :
         AgglomerateByLinks(cluster, classes[c].nodes, link_tolerance)) {
      std::sort(nodes.begin(), nodes.end(), before);
      parts.push_back({.nodes = std::move(nodes),
                       .homogeneous_class = static_cast<int>(c)});
    }
  }
  std::sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) {
    return before(a.nodes.front(), b.nodes.front());
  });
  return parts;
}

}  // namespace

std::vector<Island> BuildIslands(const Cluster& cluster, Precision precision,
                                 const IslandTolerances& tolerances,
                                 absl::Span<const int> left_out) {
  const std::vector<int> by_name = NodesByName(cluster, left_out);
  const std::vector<HomogeneousClass> classes =
      SplitIntoClasses(cluster, by_name, precision, tolerances);
  std::vector<Island> islands;
  std::vector<int> class_of;
  for (Part& part :
       PartsByName(cluster, classes, by_name, tolerances.inter_node)) {
    Island island{.id = static_cast<int>(islands.size()),
                  .nodes = std::move(part.nodes)};
    island.spec = WeakestSpec(cluster, island.nodes);
    island.name =
        absl::StrCat(island.spec.device.type, " x", island.spec.num_gpus());
    islands.push_back(std::move(island));
    class_of.push_back(part.homogeneous_class);
  }
  ExplainIslands(cluster, classes, class_of, precision, tolerances, islands);
  return islands;
}

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
