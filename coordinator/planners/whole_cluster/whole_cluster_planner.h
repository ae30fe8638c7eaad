#ifndef TANGRAM_COORDINATOR_PLANNERS_WHOLE_CLUSTER_WHOLE_CLUSTER_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_WHOLE_CLUSTER_WHOLE_CLUSTER_PLANNER_H_

#include <cstdint>
#include <memory>

#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/pipeline_rules.h"
#include "common/planner/planner.h"
#include "coordinator/planners/whole_cluster/stand_in_island.h"

namespace tangram {

struct WholeClusterOptions {
  // Search steps of the parallelizer for each microbatch size.
  int64_t max_search_steps = 1024;
  NodeOrder node_order = NodeOrder::kAsListed;
};

// Returns the homogeneous baseline of the paper's §6.2. It asks a homogeneous
// parallelizer for the whole model on an island that stands in for the whole
// cluster (MakeStandIn), and puts the stages on the real GPUs in order of the
// nodes. It proposes the plan of the least closed form over all microbatch
// sizes, and after a refusal the next one. It proposes one at a time, because
// such a parallelizer cannot compare plans on the real cluster. `source` must
// outlive the planner.
std::unique_ptr<Planner> CreateWholeClusterPlanner(
    SlicePlanSource& source, const WholeClusterOptions& options,
    const PipelineRules& rules = {});

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_WHOLE_CLUSTER_WHOLE_CLUSTER_PLANNER_H_
