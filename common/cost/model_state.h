#ifndef TANGRAM_COMMON_COST_MODEL_STATE_H_
#define TANGRAM_COMMON_COST_MODEL_STATE_H_

#include "common/cost/collectives.h"
#include "common/cost/stage_cost.h"

// Sharing of model state among data-parallel ranks; inside common/cost only.
namespace tangram {

// The ranks that hold the same parameters. They reduce their gradients together
// and, under ZeRO (1910.02054), share their state. dp·cp ranks for dense
// parameters, dp·cp/ep for experts. With hybrid sharding (MiCS, 2205.00119),
// those of one shard group, zero_degree·cp and zero_degree·cp/ep ranks, and
// `equals` are the dp / zero_degree ranks of all shard groups with the same
// shard; otherwise one.
struct ReplicaGroups {
  CommGroup dense;
  CommGroup expert;
  CommGroup equals;
};

ReplicaGroups ReplicaGroupsOf(const StageParallelism& parallelism,
                              const StageWiring& wiring);

// Bytes on one GPU after ZeRO sharding.
struct ModelState {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;

  double total() const { return weights + gradients + optimizer; }
};
ModelState ModelStateOf(const StageParameters& parameters,
                        const StageParallelism& parallelism,
                        const TrainingOptions& training);
// Likewise, with the fractions that the stage keeps.
ModelState ModelStateOf(const StageParameters& parameters,
                        const StageParallelism& parallelism,
                        const StageEnvironment& environment);

// Returns the exposed part of a collective that overlaps compute: the part that
// exceeds the compute, and the time by which it slows the compute down.
// `overlap_penalty` is Galvatron's overlap coefficient (2211.13878 §3.2) minus
// one.
double ExposedSeconds(double collective_s, double compute_s,
                      double overlap_penalty);

// Returns the time of one all-gather, or equally one reduce-scatter, of one
// value for each parameter.
double ShardSweepSeconds(const StageParameters& parameters,
                         double bytes_per_parameter,
                         const ReplicaGroups& groups,
                         const StageEnvironment& environment);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_MODEL_STATE_H_
