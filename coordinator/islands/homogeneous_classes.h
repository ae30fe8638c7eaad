#ifndef TANGRAM_COORDINATOR_ISLANDS_HOMOGENEOUS_CLASSES_H_
#define TANGRAM_COORDINATOR_ISLANDS_HOMOGENEOUS_CLASSES_H_

#include <array>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "coordinator/islands/build_islands.h"

namespace tangram {

// What nodes are split by, in this order (paper §4.1, constraints 1 and 2).
enum class NodeCriterion { kGpusPerNode, kCompute, kMemory, kIntraNode };
inline constexpr int kNumNodeCriteria = 4;

struct ValueRange {
  double min = 0;
  double max = 0;
  bool operator==(const ValueRange&) const = default;
};

// Nodes alike in every criterion, in the order given to the split. `ranges[c]`
// is what the nodes that were still together after the split by c span in c;
// two classes were separated by the first criterion whose ranges differ.
struct HomogeneousClass {
  std::vector<int> nodes;
  std::array<ValueRange, kNumNodeCriteria> ranges;
};

// Delivered peak FLOP/s of one GPU, on the units that it would use.
double ComputeOf(const DeviceSpec& device, Precision precision);

// What may separate two nodes: max / min ≤ 1 + this.
double ToleranceOf(NodeCriterion criterion, const IslandTolerances& tolerances);

// Splits `nodes` by one criterion after the other. Each split sorts by value
// and begins a new part where the spread to the part's smallest value would
// exceed the tolerance.
std::vector<HomogeneousClass> SplitIntoClasses(
    const Cluster& cluster, absl::Span<const int> nodes, Precision precision,
    const IslandTolerances& tolerances);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_HOMOGENEOUS_CLASSES_H_
