#include "coordinator/planners/constraints/limit_islands.h"

#include <cstdint>

#include "common/base/status_macros.h"

namespace tangram {

void JoinLimits(const StageLimits& more, IslandSpec& spec) {
  const JoinedLimits joined = Join(spec.limits, more);
  spec.limits = joined.limits;
  // More GPUs than the island has, which no stage can meet.
  if (joined.contradiction) spec.limits.gpus_per_stage = spec.num_gpus() + 1;
}

absl::StatusOr<IslandRules> LimitIslands(const PlanRequest& request,
                                         const PipelineRules& rules,
                                         std::vector<Island>& islands) {
  TANGRAM_ASSIGN_OR_RETURN(
      IslandRules resolved,
      ResolveConstraints(request.constraints, request.cluster, request.model,
                         islands));
  for (Island& island : islands) {
    island.spec.limits = resolved.limits[island.id];
    JoinLimits(rules.stages, island.spec);
    const bool other_nodes = rules.gpus_per_node > 0 &&
                             island.spec.gpus_per_node != rules.gpus_per_node;
    if (other_nodes ||
        !WhyNotDevices(rules, request.cluster, island.nodes).empty()) {
      resolved.usable &= ~(uint32_t{1} << island.id);
    }
  }
  return resolved;
}

}  // namespace tangram
