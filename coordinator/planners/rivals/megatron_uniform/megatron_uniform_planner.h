#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_MEGATRON_UNIFORM_MEGATRON_UNIFORM_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_MEGATRON_UNIFORM_MEGATRON_UNIFORM_PLANNER_H_

#include <memory>

#include "common/planner/planner.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// Returns a planner that proposes all UniformStrategies at once, so that the
// judge picks the fastest. Sequence parallelism is on with tensor parallelism,
// and the optimizer is distributed over replicas.
std::unique_ptr<Planner> CreateMegatronUniformPlanner();

PlannerInfo MegatronUniformPlanner();

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_MEGATRON_UNIFORM_MEGATRON_UNIFORM_PLANNER_H_
