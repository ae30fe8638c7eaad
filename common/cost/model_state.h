#ifndef TANGRAM_COMMON_COST_MODEL_STATE_H_
#define TANGRAM_COMMON_COST_MODEL_STATE_H_

#include "common/cost/collectives.h"
#include "common/cost/stage_cost.h"

// How model state is shared among data-parallel ranks; inside common/cost only.
namespace tangram {

// The ranks that hold the same parameters, and so reduce their gradients and
// under ZeRO (1910.02054) share their state: dp·cp, for experts cp·dp/ep.
struct ReplicaGroups {
  CommGroup dense;
  CommGroup expert;
};

ReplicaGroups ReplicaGroupsOf(const StageParallelism& parallelism,
                              const StageWiring& wiring);

// One all-gather (or, the same, one reduce-scatter) of 16- or 32-bit values,
// one a parameter.
double ShardSweepSeconds(const StageParameters& parameters,
                         const ReplicaGroups& groups,
                         const StageEnvironment& environment);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_MODEL_STATE_H_
