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

// Constraints of a request, resolved to islands.
struct IslandRules {
  uint32_t usable = ~uint32_t{0};   // Bit i: island i may be used.
  std::vector<StageLimits> limits;  // By island.
  // [island][layer]: the layers before `layer` that pins keep off the island.
  // Empty without pins.
  std::vector<std::vector<int>> kept_off;
  int min_stages = 0;  // In the whole pipeline.
  int max_stages = std::numeric_limits<int>::max();

  bool IsUsable(int island) const { return usable >> island & 1; }
  // Returns whether layers [begin_layer, end_layer) may run on `island`, in
  // O(1) for any number of pins.
  bool Allows(int begin_layer, int end_layer, int island) const {
    if (!IsUsable(island)) return false;
    return kept_off.empty() ||
           kept_off[island][begin_layer] == kept_off[island][end_layer];
  }
};

// Returns the indices of the excluded nodes, ascending. Errors:
// kInvalidArgument for a name that is neither a node's nor a group's, and if no
// node is left.
absl::StatusOr<std::vector<int>> ExcludedNodes(
    const PlanConstraints& constraints, const Cluster& cluster);

// Returns a mark for each node of the cluster. Marks are equal for nodes that
// the constraints name alike, by type of GPU or by group. Empty if they name
// none.
std::vector<int> ConstraintMarks(const PlanConstraints& constraints,
                                 const Cluster& cluster);

// Returns the constraints resolved to `islands`. Errors: kInvalidArgument
// naming the field, the value and the known islands, for an unknown island or
// layer, for degrees that no plan can have, and if no island is left.
absl::StatusOr<IslandRules> ResolveConstraints(
    const PlanConstraints& constraints, const Cluster& cluster,
    const ModelSpec& model, absl::Span<const Island> islands);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_RESOLVE_CONSTRAINTS_H_
