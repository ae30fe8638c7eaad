#include "common/cost/least_work.h"

#include <algorithm>

#include "common/cost/operator_cost.h"
#include "common/cost/stage_cost.h"

namespace tangram {
namespace {

// Returns the seconds that a replica computes for one microbatch, without
// collectives.
double ComputeSeconds(const OperatorCost& cost) {
  return cost.forward_s - cost.forward_comm_s + cost.backward_s -
         cost.backward_comm_s;
}

// Returns the costs of the operators on one GPU that runs the whole global
// batch as one microbatch.
std::vector<OperatorCost> OnOneGpu(const LayerSpec& layer,
                                   const DeviceSpec& device,
                                   const TrainingOptions& training) {
  return EstimateOperators(
      layer, StageParallelism{},
      {.device = device,
       .training = training,
       .wiring = {},
       .pipeline_microbatch_size = training.global_batch_size});
}

// Returns the costs of the operators on the GPUs that hold one expert each. The
// host of no GPU issues fewer kernels.
std::vector<OperatorCost> OnMostGpus(const LayerSpec& layer,
                                     const DeviceSpec& device,
                                     const TrainingOptions& training) {
  const int experts = std::max(1, layer.num_experts);
  return EstimateOperators(
      layer, {.dp_degree = experts, .ep_degree = experts},
      {.device = device,
       .training = training,
       .wiring = {},
       .pipeline_microbatch_size = training.global_batch_size});
}

// Returns the device as it is for dimensions that tp may divide. A dimension
// that fills no whole tiles still fills none once it is divided, but may leave
// out what is worse than that, and the other way round.
DeviceSpec WithLeastPenalty(DeviceSpec device) {
  DeviceEfficiency& efficiency = device.efficiency;
  efficiency.unaligned_penalty =
      std::min(efficiency.unaligned_penalty, efficiency.odd_penalty);
  return device;
}

// Q, K and V are split in different ways, so the sum of their columns may fill
// whole tiles on some ranks only.
DeviceSpec WithoutPenalty(DeviceSpec device) {
  device.efficiency.unaligned_penalty = 0;
  device.efficiency.odd_penalty = 0;
  return device;
}

}  // namespace

bool HasLeastWork(const DeviceSpec& device) {
  return device.measured.empty() && device.measured_layers.empty();
}

// One GPU without any degree, with the whole global batch G as its microbatch,
// is the cheapest in GPU-seconds a sample. Let a stage of n = tp·cp·dp GPUs run
// b ≤ G samples. Each kernel of the model takes
//
//   t = count · (slowdown · (x + half) / rate + y / bandwidth) + launch
//
// or, in attention, the maximum instead of the sum,
//
// with x FLOPs and y bytes on this GPU (kernels.h), and counts n·t / b.
//  - All GPUs together have at least the FLOPs of b samples, and at least their
//    activations: degrees split them or repeat them (norms without sequence
//    parallelism, keys and values on more ranks than they have heads, uneven
//    experts). So n·x / b and the part of n·y / b that follows the tokens are
//    at least those of one GPU.
//  - The rest does not grow with b: half, launch and the bytes of weights. The
//    GPUs read the weights dp·cp times at least, and those of experts
//    dp·cp / ep ≥ 1 times; with half and launch it is the same. Divided by
//    b ≤ G, that is at least what one GPU has for G.
//  - A maximum of sums is at least that of lower sums.
//  - The slowdown is that of dimensions k and n, which degrees only divide. A
//    quotient that is a multiple of 64 (of 8) has a dividend that is one too,
//    so what fills no tile still fills none.
// Collectives, recomputation, ZeRO and host copies only add to this.
std::vector<LeastWork> LeastWorkOf(const LayerSpec& layer,
                                   const DeviceSpec& device,
                                   const TrainingOptions& training) {
  const std::vector<OperatorCost> costs =
      OnOneGpu(layer, WithLeastPenalty(device), training);
  const std::vector<OperatorCost> unpenalized =
      OnOneGpu(layer, WithoutPenalty(device), training);
  const std::vector<OperatorCost> spread = OnMostGpus(layer, device, training);
  const absl::Span<const OpKind> ops = OperatorsOf(layer);
  std::vector<LeastWork> least;
  for (size_t i = 0; i < costs.size(); ++i) {
    const OperatorCost& cost =
        ops[i] == OpKind::kQkvProjection ? unpenalized[i] : costs[i];
    least.push_back({.gpu_s = ComputeSeconds(cost) / training.global_batch_size,
                     .forward_host_s = spread[i].forward_host_s,
                     .backward_host_s = spread[i].backward_host_s});
  }
  return least;
}

// Each parameter has one owner at least, which moves its state once. Launches
// and host copies only add to this.
double LeastOptimizerSeconds(const DeviceSpec& device,
                             const TrainingOptions& training) {
  constexpr double kMany = 1e9;
  const StageEnvironment environment = {
      .device = device, .training = training, .wiring = {}};
  const auto step_s = [&](double parameters) {
    return OptimizerSeconds({.dense = parameters}, StageParallelism{},
                            environment);
  };
  return (step_s(kMany) - step_s(0)) / kMany;
}

}  // namespace tangram
