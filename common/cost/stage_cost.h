#ifndef TANGRAM_COMMON_COST_STAGE_COST_H_
#define TANGRAM_COMMON_COST_STAGE_COST_H_

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/cost/operator_cost.h"
#include "common/domain/model_slice.h"

namespace tangram {

// Memory of a stage on each of its GPUs, in bytes.
struct StageMemory {
  // Weights, gradients and optimizer state after ZeRO sharding, plus the
  // runtime's reserve.
  double static_bytes = 0;
  // Parts of static_bytes; the rest is the reserve.
  double weight_bytes = 0;
  double gradient_bytes = 0;
  double optimizer_bytes = 0;
  // Activations of each microbatch in flight.
  double activation_bytes = 0;
  // Held once, on top of the microbatches in flight: recomputed activations of
  // the largest segment, weights gathered by ZeRO 3, logits and other
  // workspace.
  double transient_bytes = 0;
  // Offloaded bytes of each GPU in its host's memory: model state, and
  // activations of each microbatch in flight.
  double host_static_bytes = 0;
  double host_activation_bytes = 0;

  // Returns the peak with `in_flight` microbatches held at once. All three
  // terms include fragmentation.
  double PeakBytes(int in_flight) const {
    return static_bytes + transient_bytes + activation_bytes * in_flight;
  }
  double HostBytes(int in_flight) const {
    return host_static_bytes + host_activation_bytes * in_flight;
  }
};

// Cost of one stage: seconds for one pipeline microbatch, and seconds paid once
// an iteration.
struct StageCost {
  double forward_s = 0;
  double backward_s = 0;   // Includes recomputation.
  double recompute_s = 0;  // The recomputed part of backward_s.
  double comm_s =
      0;  // The part of forward_s + backward_s spent in collectives.
  // The parts of forward_s and backward_s spent waiting for copies between host
  // and GPU.
  double forward_copy_s = 0;
  double backward_copy_s = 0;
  double sync_s = 0;       // Gradient reduction after the last backward pass.
  double optimizer_s = 0;  // Includes waiting for copies of offloaded state.
  double measured_s =
      0;  // The part of forward_s + backward_s that comes from measurements.
  StageMemory memory;
};

// Number of parameters of a stage on one GPU (see OperatorCost).
struct StageParameters {
  double dense = 0;
  double expert = 0;
};

// The part of a tied head's cost that comes from its copy of the embedding's
// matrix: parameters to hold, to reduce and to step.
struct HeadCopy {
  double parameters = 0;
  double backward_s = 0;  // Reduction for each microbatch, as far as exposed.
  double optimizer_beyond_model_s = 0;
  double state_beyond_model_bytes = 0;
};

// Cost of operators [op_begin, op_end) of one layer, recomputed as `mask` says.
// A stage is a sum of such pieces, so searches keep and reuse them. All fields
// add up, except that the largest transient_bytes counts.
struct LayerCost {
  // As in StageCost, for one microbatch, but on the device alone. StageCostOf
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
  // The measured optimizer step and model state of the layer minus the model's,
  // after ZeRO sharding.
  double optimizer_beyond_model_s = 0;
  double state_beyond_model_bytes = 0;
  // Part of the above; all zero but in a tied head.
  HeadCopy head_copy;
  bool embeds = false;  // Whether the embedding is among the layers.
  // As in StageMemory, but before fragmentation.
  double activation_bytes = 0;
  double transient_bytes = 0;
  double host_activation_bytes = 0;
  // The head's part of activation_bytes, and transient_bytes by whether they
  // are the head's. A microbatch's backward pass begins with the head, and has
  // freed what the head keeps before other layers need room.
  double head_activation_bytes = 0;
  double head_transient_bytes = 0;
  double body_transient_bytes = 0;
};

// The operators [op_begin, op_end) of a layer; those in `recomputed` run again
// in the backward pass.
struct LayerPart {
  int op_begin = 0;
  int op_end = 0;
  OpMask recomputed = kRecomputeNone;

  bool operator==(const LayerPart&) const = default;
};

// Estimates a part of a layer. Includes the collectives that ZeRO pays for
// each microbatch: stage 2 reduce-scatters the gradients, and stage 3 also
// gathers the weights in both passes. They overlap the layer's compute, and
// only the exposed part is paid. The same holds for copies of offloaded state
// (see host_offload.h), which need the device's host link.
LayerCost EstimateLayer(const LayerSpec& layer, const LayerPart& part,
                        const StageParallelism& parallelism,
                        const StageEnvironment& environment,
                        const HostOffload& offload = {});

// Adds `count` such layers to a sum that started as LayerCost{}.
void AddLayers(const LayerCost& layer, int count, LayerCost& sum);

// Returns the cost of the layers in `sum` where the head has no copy of a tied
// matrix. No stage with these layers costs less.
LayerCost WithoutHeadCopy(LayerCost sum);

// Returns the cost of the layers in `sum` on one stage, where a tied head uses
// the embedding's matrix if the stage has it.
inline LayerCost OnOneStage(const LayerCost& sum) {
  return sum.embeds ? WithoutHeadCopy(sum) : sum;
}

// Returns the cost of the stage that consists of `layers`, all estimated with
// the same `offload`. Adds gradient reduction, optimizer, model state, reserve
// and fragmentation.
StageCost StageCostOf(const LayerCost& layers,
                      const StageParallelism& parallelism,
                      const StageEnvironment& environment,
                      const HostOffload& offload = {});

// Returns the memory of that stage alone, with nothing offloaded.
StageMemory StageMemoryOf(const LayerCost& layers,
                          const StageParallelism& parallelism,
                          const StageEnvironment& environment);

// Estimates `stage`, whose cuts count from the first layer of `runs`.
// O(distinct layers and recompute masks), not O(layers).
StageCost EstimateStage(absl::Span<const LayerRun> runs, const StagePlan& stage,
                        const StageEnvironment& environment);

// Returns the cost of a part of a layer of run `run`: what EstimateLayer does
// with the degrees, the offload and the environment of a stage.
using LayerCostOf = absl::FunctionRef<LayerCost(int run, const LayerPart&)>;

// Likewise for a search that keeps the costs of layers.
StageCost EstimateStage(absl::Span<const LayerRun> runs, const StagePlan& stage,
                        const StageEnvironment& environment,
                        LayerCostOf layer_cost);

// The functions below are the parts of EstimateStage that a search needs on
// their own. Returns the bytes of weights, gradients and optimizer state,
// wherever they are kept, without the runtime's reserve.
double ModelStateBytes(const StageParameters& parameters,
                       const StageParallelism& parallelism,
                       const TrainingOptions& training);
// Seconds of a stage's two passes, which hide gradient synchronisation.
struct PassTimes {
  double forward_s = 0;
  double backward_s = 0;
};
// Returns the exposed seconds of gradient synchronisation, once an iteration.
// ZeRO 0: all-reduce. ZeRO 1: reduce-scatter of gradients and all-gather of
// weights. ZeRO 2: the all-gather alone. ZeRO 3: nothing, because each
// microbatch pays for it (see EstimateLayer). With hybrid sharding, these are
// within a shard group, and an all-reduce of each shard over the groups comes
// after them, at every ZeRO stage. With overlap_grad_reduce, gradients are
// reduced beside the last backward pass and weights gathered beside the first
// forward pass; the rest is exposed.
double GradientSyncSeconds(const StageParameters& parameters,
                           const PassTimes& passes,
                           const StageParallelism& parallelism,
                           const StageEnvironment& environment);
// Returns the seconds of one memory-bound pass over the optimizer state that
// the GPU owns.
double OptimizerSeconds(const StageParameters& parameters,
                        const StageParallelism& parallelism,
                        const StageEnvironment& environment);

// Returns the microbatches that a stage holds under 1F1B with `stages_behind`
// stages after it and `num_microbatches` in all.
inline int InFlightMicrobatches(int stages_behind, int num_microbatches) {
  return std::min(stages_behind + 1, num_microbatches);
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_STAGE_COST_H_
