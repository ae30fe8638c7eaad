#ifndef TANGRAM_COORDINATOR_PLANNERS_BUILTIN_BUILTIN_PLANNERS_H_
#define TANGRAM_COORDINATOR_PLANNERS_BUILTIN_BUILTIN_PLANNERS_H_

#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// Returns the planners of this program: tangram, the default, and
// whole-cluster. New planners are registered in this function and nowhere else.
// Thread-safe.
const PlannerRegistry& BuiltinPlanners();

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_BUILTIN_BUILTIN_PLANNERS_H_
