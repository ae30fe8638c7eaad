#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_PLACE_SAILOR_PLAN_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_PLACE_SAILOR_PLAN_H_

#include <optional>

#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "coordinator/planners/rivals/sailor/sailor_input.h"
#include "coordinator/planners/rivals/sailor/sailor_request.h"

namespace tangram::sailor {

// Returns a plan of one zone on the GPUs of its types. Each replica has its tp
// GPUs in one node. Those of the most GPUs take theirs first, and of equal ones
// those of the first stages, in the order of the nodes. Stages whose replicas
// differ in type or degree are mixed, and each replica takes the same samples.
// With `recompute`, transformer layers run again in the backward pass. Empty:
// some node has fewer GPUs left than a replica needs, as Sailor counts GPUs and
// not nodes.
std::optional<PipelinePlan> PlaceSailorPlan(const Plan& plan,
                                            const ModelSpec& model,
                                            const Cluster& cluster,
                                            const TypedNodes& typed,
                                            bool recompute);

}  // namespace tangram::sailor

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_PLACE_SAILOR_PLAN_H_
