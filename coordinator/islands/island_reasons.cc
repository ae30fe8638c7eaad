#include "coordinator/islands/island_reasons.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/islands/node_links.h"

namespace tangram {
namespace {

// Returns the first criterion that separates two classes; kNumNodeCriteria if
// none does.
int SeparatingCriterion(const HomogeneousClass& a, const HomogeneousClass& b) {
  for (int c = 0; c < kNumNodeCriteria; ++c) {
    if (a.ranges[c] != b.ranges[c]) return c;
  }
  return kNumNodeCriteria;
}

// How a criterion is printed.
struct Quantity {
  double scale = 1;  // Factor from the value to the printed unit.
  std::string unit;
};

// Returns the unit in which people read a criterion.
Quantity QuantityOf(NodeCriterion criterion, Precision precision) {
  switch (criterion) {
    case NodeCriterion::kGpusPerNode:
      return {1, "GPUs per node"};
    case NodeCriterion::kCompute:
      return {1e-12, absl::StrCat("TFLOP/s ", PrecisionName(precision))};
    case NodeCriterion::kMemory:
      return {1e-9, "GB per GPU"};
    case NodeCriterion::kIntraNode:
      return {1e-9, "GB/s inside a node"};
  }
  return {};
}

// An island and the class that its nodes are of.
struct IslandOfClass {
  const Island& island;
  const HomogeneousClass& nodes;
};

// Returns "V100-16: 78.4 TFLOP/s fp16, T4 has 45.5 (spread 1.72 > 1.05)".
std::string ExplainSplit(const IslandOfClass& own, const IslandOfClass& other,
                         NodeCriterion criterion, Precision precision,
                         const IslandTolerances& tolerances) {
  const ValueRange& a = own.nodes.ranges[static_cast<int>(criterion)];
  const ValueRange& b = other.nodes.ranges[static_cast<int>(criterion)];
  const Quantity quantity = QuantityOf(criterion, precision);
  std::string text =
      absl::StrFormat("%s: %.4g %s, %s has %.4g", own.island.spec.device.type,
                      a.min * quantity.scale, quantity.unit,
                      other.island.spec.device.type, b.min * quantity.scale);
  if (criterion != NodeCriterion::kGpusPerNode) {
    absl::StrAppendFormat(&text, " (spread %.3g > %.3g)",
                          std::max(a.max, b.max) / std::min(a.min, b.min),
                          1 + ToleranceOf(criterion, tolerances));
  }
  return text;
}

// Returns the fastest link between two islands, in bytes per second.
double FastestBetween(const Cluster& cluster, const Island& a,
                      const Island& b) {
  const std::vector<GroupShare> b_groups = GroupsOf(cluster, b.nodes);
  double fastest = 0;
  for (const GroupShare& from : GroupsOf(cluster, a.nodes)) {
    for (const GroupShare& to : b_groups) {
      fastest = std::max(fastest, PairBandwidth(cluster, from.group, to.group));
    }
  }
  return fastest;
}

// Explains two islands of one class, which only their links separate.
std::string ExplainLinks(const Cluster& cluster, const Island& island,
                         const Island& next) {
  const double between = FastestBetween(cluster, island, next);
  if (island.nodes.size() == 1) {
    return absl::StrFormat("one node, with links to %s at %.3g GB/s", next.name,
                           between * 1e-9);
  }
  return absl::StrFormat("links inside at %.3g GB/s, to %s at %.3g GB/s",
                         island.spec.inter_node.bandwidth_bytes_per_s * 1e-9,
                         next.name, between * 1e-9);
}

}  // namespace

// Compares each island with the one whose class was separated from its own by
// the latest criterion; of equal ones, the first. Islands of one class count as
// latest, since only their links separate them.
void ExplainIslands(const Cluster& cluster,
                    absl::Span<const HomogeneousClass> classes,
                    absl::Span<const int> class_of, Precision precision,
                    const IslandTolerances& tolerances,
                    std::vector<Island>& islands) {
  for (Island& island : islands) {
    const HomogeneousClass& own = classes[class_of[island.id]];
    int next = -1;
    int separated_by = -1;
    for (const Island& other : islands) {
      if (other.id == island.id) continue;
      const int criterion =
          SeparatingCriterion(own, classes[class_of[other.id]]);
      if (criterion > separated_by) {
        separated_by = criterion;
        next = other.id;
      }
    }
    if (next < 0) {
      island.reason = "the whole cluster is homogeneous";
    } else if (separated_by == kNumNodeCriteria) {
      island.reason = ExplainLinks(cluster, island, islands[next]);
    } else {
      island.reason = ExplainSplit(
          {island, own}, {islands[next], classes[class_of[next]]},
          static_cast<NodeCriterion>(separated_by), precision, tolerances);
    }
  }
}

}  // namespace tangram
