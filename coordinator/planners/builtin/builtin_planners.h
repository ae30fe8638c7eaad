#ifndef TANGRAM_COORDINATOR_PLANNERS_BUILTIN_BUILTIN_PLANNERS_H_
#define TANGRAM_COORDINATOR_PLANNERS_BUILTIN_BUILTIN_PLANNERS_H_

#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// The planners of this program: tangram, the default, and whole-cluster. A new
// planner is registered here, and nowhere else. Thread-safe.
const PlannerRegistry& BuiltinPlanners();

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_BUILTIN_BUILTIN_PLANNERS_H_
