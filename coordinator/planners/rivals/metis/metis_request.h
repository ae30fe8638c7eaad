#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_METIS_REQUEST_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_METIS_REQUEST_H_

#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/rivals/metis/metis_input.h"

namespace tangram {

// A request as Metis sees it, and the way back.
struct MetisRequest {
  MetisInput input;
  // gpus[t]: the GPUs of type t in the order of hosts.
  std::vector<std::vector<GpuId>> gpus;
};

// Makes the input of Metis from the profiles of ProfileLayers. A host reaches
// others at the slowest link of its node. With M10, hosts have the greatest
// number of GPUs that divides every node.
MetisRequest MakeMetisRequest(const PlanRequest& request,
                              const MetisSettings& settings);

// Whether a plan can be run: all stages have been costed, none is empty, all
// layers are there, and every replica has samples and GPUs of one node.
bool CanRun(const MetisRequest& request, const MetisPlan& plan);

// Returns the plan on its GPUs, for a plan that can be run. Replicas with
// unlike shares or types become groups in lock step.
PipelinePlan ToPipelinePlan(const MetisRequest& request, const MetisPlan& plan,
                            int global_batch);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_METIS_REQUEST_H_
