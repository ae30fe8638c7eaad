#ifndef TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_LIMIT_ISLANDS_H_
#define TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_LIMIT_ISLANDS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/island.h"
#include "common/domain/stage_limits.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/planners/constraints/resolve_constraints.h"

namespace tangram {

// Joins `more` to the limits of an island. If they contradict each other, no
// stage can run on the island.
void JoinLimits(const StageLimits& more, IslandSpec& spec);

// Gives `islands` the limits of the request and of `rules`, and returns the
// constraints resolved to them. Islands that the rules keep out are not usable.
// Errors: those of ResolveConstraints.
absl::StatusOr<IslandRules> LimitIslands(const PlanRequest& request,
                                         const PipelineRules& rules,
                                         std::vector<Island>& islands);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_LIMIT_ISLANDS_H_
