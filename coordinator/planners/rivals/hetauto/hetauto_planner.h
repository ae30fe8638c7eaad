#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_PLANNER_H_

#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// Returns the planner "hetauto", HetAuto-style: a tree search after HetAuto's
// published description, not its program. Its clusters are the islands of the
// cluster. It proposes the plans that it found, best first by its closed form.
PlannerInfo HetAutoPlanner();

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_PLANNER_H_
