#ifndef TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_RESOLVE_CONSTRAINTS_H_
#define TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_RESOLVE_CONSTRAINTS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"
#include "common/domain/stage_limits.h"
#include "common/planner/plan_constraints.h"

namespace tangram {

// Layers [first_layer, last_layer] are on some of `islands`, a bit each.
struct PinnedLayers {
  int first_layer = 0;
  int last_layer = 0;
  uint32_t islands = 0;
};

// Constraints by the islands that they name.
struct IslandRules {
  uint32_t usable = ~uint32_t{0};   // A bit each.
  std::vector<StageLimits> limits;  // By island.
  std::vector<PinnedLayers> pins;
  int max_stages = std::numeric_limits<int>::max();  // Of the pipeline.

  bool IsUsable(int island) const { return usable >> island & 1; }
  // Whether layers [begin, end) may run on `island`.
  bool Allows(int begin_layer, int end_layer, int island) const {
    if (!IsUsable(island)) return false;
    for (const PinnedLayers& pin : pins) {
      const bool overlaps =
          begin_layer <= pin.last_layer && pin.first_layer < end_layer;
      if (overlaps && (pin.islands >> island & 1) == 0) return false;
    }
    return true;
  }
};

// Nodes of the cluster that are named, ascending. kInvalidArgument for a name
// that is neither a node's nor a group's, and if no node is left.
absl::StatusOr<std::vector<int>> ExcludedNodes(
    const PlanConstraints& constraints, const Cluster& cluster);

// By node of the cluster: equal for nodes that the constraints name alike, by
// type of GPU or group. Empty if they name none.
std::vector<int> ConstraintMarks(const PlanConstraints& constraints,
                                 const Cluster& cluster);

// kInvalidArgument naming field, value and the islands there are, for an island
// or layer that is not there, and if no island is left.
absl::StatusOr<IslandRules> ResolveConstraints(
    const PlanConstraints& constraints, const Cluster& cluster, int num_layers,
    absl::Span<const Island> islands);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_RESOLVE_CONSTRAINTS_H_
