#ifndef TANGRAM_COMMON_COST_STAGE_COST_H_
#define TANGRAM_COMMON_COST_STAGE_COST_H_

#include <algorithm>

#include "absl/types/span.h"
#include "common/cost/operator_cost.h"
#include "common/domain/model_slice.h"

namespace tangram {

// What memory a stage needs on each of its GPUs.
struct StageMemory {
  // Weights, gradients and optimizer state under the stage's ZeRO stage, plus
  // the runtime's reserve.
  double static_bytes = 0;
  // Their shares of it; the reserve is what is left.
  double weight_bytes = 0;
  double gradient_bytes = 0;
  double optimizer_bytes = 0;
  // For each microbatch in flight.
  double activation_bytes = 0;
  // On top of all in flight, once: re-materialised activations of the largest
  // recomputed segment, ZeRO-3 gathered weights, logits and other workspace.
  double transient_bytes = 0;
  // What is offloaded, for each GPU, in its host's memory: model state, and
  // activations of each microbatch in flight.
  double host_static_bytes = 0;
  double host_activation_bytes = 0;

  // Peak with `in_flight` microbatches held at once, fragmentation included
  // in all three.
  double PeakBytes(int in_flight) const {
    return static_bytes + transient_bytes + activation_bytes * in_flight;
  }
  double HostBytes(int in_flight) const {
    return host_static_bytes + host_activation_bytes * in_flight;
  }
};

// One stage: seconds of one pipeline microbatch, and what is paid once an
// iteration.
struct StageCost {
  double forward_s = 0;
  double backward_s = 0;   // Recomputation included.
  double recompute_s = 0;  // Its share of backward_s.
  double comm_s = 0;       // Collectives' share of forward_s + backward_s.
  // What the passes wait for copies between host and GPU: their shares.
  double forward_copy_s = 0;
  double backward_copy_s = 0;
  double sync_s = 0;       // Gradient reduction after the last backward pass.
  double optimizer_s = 0;  // Waiting for copies of offloaded state included.
  double measured_s = 0;   // Share of forward_s + backward_s from measurements.
  StageMemory memory;
};

// Parameters of a stage on one GPU (see OperatorCost).
struct StageParameters {
  double dense = 0;
  double expert = 0;
};

// Operators [op_begin, op_end) of one layer, recomputed as `mask` says: the
// piece of which a stage is a sum, for searches to keep and reuse. Stage sums
// are plain, but of transient_bytes the largest counts.
struct LayerCost {
  // As in StageCost, for one microbatch, but of the device alone: StageCostOf
  // makes a stage wait for the host.
  double forward_s = 0;
  double backward_s = 0;
  double forward_host_s = 0;
  double backward_host_s = 0;
  double recompute_s = 0;
  double comm_s = 0;
  double forward_copy_s = 0;
  double backward_copy_s = 0;
  double measured_s = 0;
  StageParameters parameters;
  // By how much the measured optimizer step and model state of the layer differ
  // from the model's, ZeRO applied.
  double optimizer_beyond_model_s = 0;
  double state_beyond_model_bytes = 0;
  // As in StageMemory, but before fragmentation.
  double activation_bytes = 0;
  double transient_bytes = 0;
  double host_activation_bytes = 0;
};

// Includes what ZeRO pays each microbatch: stage 2 reduce-scatters the
// gradients, stage 3 also gathers the weights in both passes; both are hidden
// behind the layer's compute and only the excess is paid. So are the copies of
// what is offloaded (see host_offload.h). That needs the device's host link.
LayerCost EstimateLayer(const LayerSpec& layer, int op_begin, int op_end,
                        OpMask mask, const StageParallelism& parallelism,
                        const StageEnvironment& environment,
                        const HostOffload& offload = {});

// Adds `count` such layers to a sum that started as LayerCost{}.
void AddLayers(const LayerCost& layer, int count, LayerCost& sum);

// The stage that consists of the layers in `sum`, all estimated with the same
// `offload`: adds gradient reduction, optimizer, model state, reserve and
// fragmentation.
StageCost StageCostOf(const LayerCost& sum, const StageParallelism& parallelism,
                      const StageEnvironment& environment,
                      const HostOffload& offload = {});

// Its memory alone, with nothing offloaded.
StageMemory StageMemoryOf(const LayerCost& sum,
                          const StageParallelism& parallelism,
                          const StageEnvironment& environment);

// The cost of `stage`, whose cuts count from the first layer of `runs`.
// O(distinct layers and recompute masks), not O(layers).
StageCost EstimateStage(absl::Span<const LayerRun> runs, const StagePlan& stage,
                        const StageEnvironment& environment);

// The parts of EstimateStage that a search needs on its own.
// Weights, gradients, optimizer state, wherever they are kept; without the
// runtime's reserve.
double ModelStateBytes(const StageParameters& parameters,
                       const StageParallelism& parallelism,
                       const TrainingOptions& training);
// Once an iteration. ZeRO 0: all-reduce; 1: reduce-scatter of gradients and
// all-gather of weights; 2: the all-gather alone; 3: nothing (the rest is paid
// each microbatch, see EstimateLayer). With overlap_grad_reduce the gradients
// are reduced beside the last backward pass and the weights gathered beside the
// first forward pass, of which `passes` has the seconds; what is left is paid.
struct PassTimes {
  double forward_s = 0;
  double backward_s = 0;
};
double GradientSyncSeconds(const StageParameters& parameters,
                           const PassTimes& passes,
                           const StageParallelism& parallelism,
                           const StageEnvironment& environment);
// One memory-bound pass over the optimizer state that the GPU owns.
double OptimizerSeconds(const StageParameters& parameters,
                        const StageParallelism& parallelism,
                        const StageEnvironment& environment);

// Microbatches that a stage holds under 1F1B with `stages_behind` stages after
// it and `num_microbatches` in all.
inline int InFlightMicrobatches(int stages_behind, int num_microbatches) {
  return std::min(stages_behind + 1, num_microbatches);
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_STAGE_COST_H_
