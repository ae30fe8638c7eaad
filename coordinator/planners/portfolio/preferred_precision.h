#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PREFERRED_PRECISION_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PREFERRED_PRECISION_H_

#include <memory>

#include "common/planner/cluster_planner.h"

namespace tangram {

// Returns a planner that plans with `planner` in the precision of the request
// and, if it prefers another one, also in that one without the GPUs that have
// no units for it. The answer is the faster plan, with a note on the other.
// GPUs without units must gain the fraction `min_island_gain`, as an island
// does.
//
// There is one plan if all GPUs have units for the preferred precision, or
// none; if a constraint names an island, whose number may change; and if no
// plan of the others can be as fast by AnyPlanSeconds. `planner` sees requests
// that prefer no precision. Errors: those of `planner`.
std::unique_ptr<ClusterPlanner> CreateEitherPrecisionPlanner(
    std::unique_ptr<ClusterPlanner> planner, double min_island_gain);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PREFERRED_PRECISION_H_
