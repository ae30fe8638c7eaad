#ifndef TANGRAM_COORDINATOR_ISLANDS_HOMOGENEOUS_CLASSES_H_
#define TANGRAM_COORDINATOR_ISLANDS_HOMOGENEOUS_CLASSES_H_

#include <array>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "coordinator/islands/build_islands.h"

namespace tangram {

// Properties by which nodes are split, in this order (paper §4.1, constraints 1
// and 2).
enum class NodeCriterion {
  kGpusPerNode,  // Equal inside an island.
  kCompute,      // Delivered FLOP/s per GPU, within ε_c.
  kMemory,       // Bytes per GPU, within ε_m.
  kIntraNode     // Bytes per second between the GPUs of a node, within ε_i.
};
inline constexpr int kNumNodeCriteria = 4;  // Enumerators of NodeCriterion.

// The least and the greatest value of a criterion, in its unit.
struct ValueRange {
  double min = 0;
  double max = 0;
  bool operator==(const ValueRange&) const = default;
};

// Nodes that are alike in every criterion, in the order given to the split.
// `ranges[c]` is the range in c of all nodes that the split by c left together.
// So the first criterion whose ranges differ is the one that separated two
// classes.
struct HomogeneousClass {
  std::vector<int> nodes;
  std::array<ValueRange, kNumNodeCriteria> ranges;
};

// Returns the delivered peak of one GPU in FLOP/s, on the units that
// `precision` uses: peak x efficiency.gemm_max_fraction.
double ComputeOf(const DeviceSpec& device, Precision precision);

// Returns ε of the criterion: nodes stay together if max / min ≤ 1 + ε.
double ToleranceOf(NodeCriterion criterion, const IslandTolerances& tolerances);

// Splits `nodes` by one criterion after the other (paper §4.1, steps 1 and 2).
// Each split sorts the nodes by value, v_1 ≤ v_2 ≤ ..., and begins a new part
// at the first v_i > (1 + ε) v_first, where v_first is the part's smallest
// value.
std::vector<HomogeneousClass> SplitIntoClasses(
    const Cluster& cluster, absl::Span<const int> nodes, Precision precision,
    const IslandTolerances& tolerances);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_HOMOGENEOUS_CLASSES_H_
