#include "coordinator/islands/homogeneous_classes.h"

#include <utility>

#include "common/cost/kernels.h"
#include "coordinator/islands/sort_by_runs.h"

namespace tangram {
namespace {

// Returns the node's value of a criterion.
double ValueOf(const Node& node, NodeCriterion criterion, Precision precision) {
  switch (criterion) {
    case NodeCriterion::kGpusPerNode:
      return node.num_gpus;
    case NodeCriterion::kCompute:
      return ComputeOf(node.device, precision);
    case NodeCriterion::kMemory:
      return node.device.memory_bytes;
    case NodeCriterion::kIntraNode:
      return node.intra_node.bandwidth_bytes_per_s;
  }
  return 0;
}

struct ValuedNode {
  double value = 0;
  int position = 0;  // Index in HomogeneousClass::nodes; breaks ties.
  auto operator<=>(const ValuedNode&) const = default;
};

// Returns the nodes `sorted` of class `whole`, in the order of `whole`.
HomogeneousClass PartOf(const HomogeneousClass& whole,
                        absl::Span<const ValuedNode> sorted,
                        NodeCriterion criterion) {
  HomogeneousClass part{.ranges = whole.ranges};
  part.ranges[static_cast<int>(criterion)] = {sorted.front().value,
                                              sorted.back().value};
  std::vector<int> positions;
  for (const ValuedNode& node : sorted) positions.push_back(node.position);
  SortByRuns(positions);
  for (const int position : positions) {
    part.nodes.push_back(whole.nodes[position]);
  }
  return part;
}

// Appends the parts of `whole` to `parts`. Greedy from the smallest value,
// which gives the fewest parts: part [first, i) ends where value_i > (1 +
// tolerance) value_first.
void SplitBy(const HomogeneousClass& whole, absl::Span<const double> values,
             NodeCriterion criterion, double tolerance,
             std::vector<HomogeneousClass>& parts) {
  std::vector<ValuedNode> sorted;
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    sorted.push_back({values[i], i});
  }
  SortByRuns(sorted);  // Nodes are mostly alike.
  size_t first = 0;
  for (size_t i = 1; i <= sorted.size(); ++i) {
    if (i < sorted.size() &&
        sorted[i].value <= sorted[first].value * (1 + tolerance)) {
      continue;
    }
    parts.push_back(PartOf(
        whole, absl::MakeSpan(sorted).subspan(first, i - first), criterion));
    first = i;
  }
}

}  // namespace

double ComputeOf(const DeviceSpec& device, Precision precision) {
  return MatmulPeakFlops(device.peak_flops, precision) *
         device.efficiency.gemm_max_fraction;
}

double ToleranceOf(NodeCriterion criterion,
                   const IslandTolerances& tolerances) {
  switch (criterion) {
    case NodeCriterion::kGpusPerNode:
      return 0;
    case NodeCriterion::kCompute:
      return tolerances.compute;
    case NodeCriterion::kMemory:
      return tolerances.memory;
    case NodeCriterion::kIntraNode:
      return tolerances.intra_node;
  }
  return 0;
}

// Begins with one class of all nodes and splits every class by each criterion
// in turn. O(n log n) steps per criterion for n nodes.
std::vector<HomogeneousClass> SplitIntoClasses(
    const Cluster& cluster, absl::Span<const int> nodes, Precision precision,
    const IslandTolerances& tolerances) {
  if (nodes.empty()) return {};
  std::vector<HomogeneousClass> classes = {
      {.nodes = {nodes.begin(), nodes.end()}}};
  for (int c = 0; c < kNumNodeCriteria; ++c) {
    const auto criterion = static_cast<NodeCriterion>(c);
    std::vector<HomogeneousClass> parts;
    for (const HomogeneousClass& whole : classes) {
      std::vector<double> values;
      for (const int node : whole.nodes) {
        values.push_back(ValueOf(cluster.nodes[node], criterion, precision));
      }
      SplitBy(whole, values, criterion, ToleranceOf(criterion, tolerances),
              parts);
    }
    classes = std::move(parts);
  }
  return classes;
}

}  // namespace tangram
