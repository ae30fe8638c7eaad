#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_REQUEST_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_REQUEST_H_

#include <vector>

#include "common/domain/island.h"
#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/rivals/hetauto/hetauto_input.h"

// Requests and plans, in HetAuto's terms and back. Pure.
namespace tangram {

// Returns the input whose clusters are `islands`, with microbatches of up to
// `max_samples` for a replica.
HetAutoInput HetAutoInputFor(const PlanRequest& request,
                             const std::vector<Island>& islands,
                             int max_samples, bool recompute);

// Returns the plan on the GPUs of `islands`: stages take them in order.
PipelinePlan PipelineOf(const PlanRequest& request,
                        const std::vector<Island>& islands,
                        const HetAutoPlan& plan, bool recompute);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_REQUEST_H_
