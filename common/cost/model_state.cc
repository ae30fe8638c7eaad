#include "common/cost/model_state.h"

#include <algorithm>

#include "common/cost/kernels.h"
#include "common/cost/parameter_bytes.h"

namespace tangram {
namespace {

// Return the number of ranks that share the state of dense and of expert
// parameters under ZeRO.
double DenseShards(const StageParallelism& parallelism) {
  return 1.0 * parallelism.num_shards();
}
double ExpertShards(const StageParallelism& parallelism) {
  return DenseShards(parallelism) / parallelism.ep_degree;
}

// Adds state of which ZeRO stage 1 shards the optimizer, 2 also gradients, 3
// also weights.
void AddShards(double parameters, double shards, int zero_stage,
               const ParameterBytes& bytes, ModelState& state) {
  const auto shard = [&](int from_stage) {
    return parameters / (zero_stage >= from_stage ? shards : 1);
  };
  state.weights += bytes.weight * shard(3);
  state.gradients += bytes.gradient * shard(2);
  state.optimizer += bytes.optimizer * shard(1);
}

// Returns the time in which shard groups add up the gradients that each has
// reduce-scattered: an all-reduce of each rank's shard. 0 for one group.
double ShardReduceSeconds(const StageParameters& parameters,
                          const ReplicaGroups& groups,
                          const StageEnvironment& environment) {
  const double bytes_per_parameter = GradientBytes(environment.training);
  return AllReduceSeconds(
             parameters.dense * bytes_per_parameter / groups.dense.size,
             groups.equals, environment.wiring) +
         AllReduceSeconds(
             parameters.expert * bytes_per_parameter / groups.expert.size,
             groups.equals, environment.wiring);
}

}  // namespace

ReplicaGroups ReplicaGroupsOf(const StageParallelism& parallelism,
                              const StageWiring& wiring) {
  const StageParallelism& p = parallelism;
  const int shards = p.num_shards();
  return {
      .dense = GroupOf(shards, p.tp_degree, wiring),
      .expert =
          GroupOf(shards / p.ep_degree, p.tp_degree * p.ep_degree, wiring),
      .equals = GroupOf(p.num_shard_groups(), p.tp_degree * shards, wiring)};
}

double ShardSweepSeconds(const StageParameters& parameters,
                         double bytes_per_parameter,
                         const ReplicaGroups& groups,
                         const StageEnvironment& environment) {
  return AllGatherSeconds(parameters.dense * bytes_per_parameter, groups.dense,
                          environment.wiring) +
         AllGatherSeconds(parameters.expert * bytes_per_parameter,
                          groups.expert, environment.wiring);
}

// Dense and expert parameters are shared by different numbers of ranks.
ModelState ModelStateOf(const StageParameters& parameters,
                        const StageParallelism& parallelism,
                        const TrainingOptions& training) {
  const ParameterBytes bytes = BytesOfParameter(training);
  const int zero = parallelism.zero_stage;
  ModelState state;
  AddShards(parameters.dense, DenseShards(parallelism), zero, bytes, state);
  AddShards(parameters.expert, ExpertShards(parallelism), zero, bytes, state);
  return state;
}

ModelState ModelStateOf(const StageParameters& parameters,
                        const StageParallelism& parallelism,
                        const StageEnvironment& environment) {
  ModelState state =
      ModelStateOf(parameters, parallelism, environment.training);
  state.optimizer *= environment.state.optimizer;
  state.gradients *= environment.state.gradients;
  return state;
}

double ModelStateBytes(const StageParameters& parameters,
                       const StageParallelism& parallelism,
                       const TrainingOptions& training) {
  return ModelStateOf(parameters, parallelism, training).total();
}

// max(0, collective - compute) + penalty · min(collective, compute)
double ExposedSeconds(double collective_s, double compute_s,
                      double overlap_penalty) {
  return std::max(0.0, collective_s - compute_s) +
         overlap_penalty * std::min(collective_s, compute_s);
}

// One sweep moves (n-1)/n of the bytes; an all-reduce is two sweeps. Reduction
// overlaps the last backward pass, the gather of weights the first forward
// pass.
double GradientSyncSeconds(const StageParameters& parameters,
                           const PassTimes& passes,
                           const StageParallelism& parallelism,
                           const StageEnvironment& environment) {
  const int zero_stage = parallelism.zero_stage;
  const bool one_group = parallelism.num_shard_groups() == 1;
  if (zero_stage >= 3 && one_group) return 0;
  const ReplicaGroups groups = ReplicaGroupsOf(parallelism, environment.wiring);
  const auto sweep_s = [&](double bytes_per_parameter) {
    return ShardSweepSeconds(parameters, bytes_per_parameter, groups,
                             environment);
  };
  double reduce_s = 0;
  double gather_s = 0;
  if (zero_stage <= 1) reduce_s = sweep_s(GradientBytes(environment.training));
  if (zero_stage == 0) {
    reduce_s += reduce_s;  // An all-reduce also gathers what it has reduced.
  } else if (zero_stage <= 2) {
    gather_s = sweep_s(ElementBytes(environment.training.precision));
  }
  if (!one_group) {
    reduce_s += ShardReduceSeconds(parameters, groups, environment);
  }
  if (!environment.training.overlap_grad_reduce) return reduce_s + gather_s;
  const double penalty = environment.device.efficiency.overlap_penalty;
  return ExposedSeconds(reduce_s, passes.backward_s, penalty) +
         ExposedSeconds(gather_s, passes.forward_s, penalty);
}

// One pass reads and writes the optimizer state, reads the gradient and writes
// the weight. Without a master copy, it also reads the weight.
double OptimizerSeconds(const StageParameters& parameters,
                        const StageParallelism& parallelism,
                        const StageEnvironment& environment) {
  const ParameterBytes bytes = BytesOfParameter(environment.training);
  const bool master = environment.training.precision != Precision::kFp32;
  const double traffic =
      2 * bytes.optimizer + bytes.gradient + bytes.weight * (master ? 1 : 2);
  const bool sharded = parallelism.zero_stage >= 1;
  const double owned =
      environment.state.optimizer *
      (parameters.dense / (sharded ? DenseShards(parallelism) : 1) +
       parameters.expert / (sharded ? ExpertShards(parallelism) : 1));
  return PassSeconds(owned * traffic, RatesOf(environment.device,
                                              environment.training.precision));
}

}  // namespace tangram
