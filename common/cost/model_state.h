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

// Of one GPU, ZeRO applied; in bytes.
struct ModelState {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;

  double total() const { return weights + gradients + optimizer; }
};
ModelState ModelStateOf(const StageParameters& parameters,
                        const StageParallelism& parallelism,
                        const TrainingOptions& training);

// Bytes in which one gradient is kept and reduced.
double GradientBytes(const TrainingOptions& training);

// What is left to pay of a collective that runs beside compute: what does not
// fit, and the time by which it slows the compute down (Galvatron's overlap
// coefficient, 2211.13878 §3.2, less one).
double ExposedSeconds(double collective_s, double compute_s,
                      double overlap_penalty);

// One all-gather (or, the same, one reduce-scatter) of one value a parameter.
double ShardSweepSeconds(const StageParameters& parameters,
                         double bytes_per_parameter,
                         const ReplicaGroups& groups,
                         const StageEnvironment& environment);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_MODEL_STATE_H_
