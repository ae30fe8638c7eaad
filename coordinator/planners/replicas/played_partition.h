#ifndef TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PLAYED_PARTITION_H_
#define TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PLAYED_PARTITION_H_

#include "common/domain/replicated_plan.h"
#include "common/sim/evaluate_replicated_plan.h"
#include "coordinator/planners/replicas/node_groups.h"

namespace tangram {

// A plan of several pipelines that fits, and the nodes of each.
struct PlayedPartition {
  Partition groups;
  ReplicatedPlan plan;
  ReplicatedEvaluation evaluation;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PLAYED_PARTITION_H_
