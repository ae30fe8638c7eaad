#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_METIS_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_METIS_PLANNER_H_

#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// The planner `metis`: Metis (ATC'24) with the layer profiles of the cost
// model. It gives its plans in the order of its own cost, and the first that
// the judge does not refuse is the answer. Meets PlanConstraints::exclude_nodes
// alone: other constraints are kInvalidArgument.
PlannerInfo MetisPlanner();

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_METIS_PLANNER_H_
