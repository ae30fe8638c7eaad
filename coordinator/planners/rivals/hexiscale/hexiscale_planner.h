#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_PLANNER_H_

#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// Returns the planner "hexiscale": HexiScale's scheduler with the times of
// layers of the cost model. It proposes the plans of all microbatch sizes, best
// first by HexiScale's closed form.
PlannerInfo HexiscalePlanner();

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_PLANNER_H_
