#ifndef TANGRAM_COMMON_COST_HOST_OFFLOAD_H_
#define TANGRAM_COMMON_COST_HOST_OFFLOAD_H_

#include "common/cost/model_state.h"
#include "common/cost/stage_cost.h"

// The cost of keeping parts of a stage in host memory; inside common/cost only.
// The model is Mist's (2503.19050 §5). Every pass of a layer copies in what it
// reads and copies out what it produces, beside its compute and collectives.
// Only the part of a copy that exceeds these is paid, and copies slow the
// compute down slightly. A forward pass reads weights and produces activations.
// A backward pass reads weights, gradients so far and activations, and produces
// gradients.
//
// The optimizer steps on the GPU, whose memory is ten to forty times faster
// than a processor's. Once an iteration, beside the first forward pass, state
// and gradients come in, and state and new weights go out (Mist defers the step
// until then). ZeRO-Offload (2101.06840) steps on the processor instead. It
// moves half of these bytes over the link, but the processor's memory is in the
// way.
namespace tangram {

// Bytes of model state and activations by kind.
struct HostBytes {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
};

// Returns the bytes of a GPU's `state`, and of its `kept_bytes` of activations,
// that are on the host.
HostBytes OnHost(const ModelState& state, double kept_bytes,
                 const HostOffload& offload);

// Moves the offloaded share of a layer's activations to the host, adds the
// buffers that copies need, and makes the passes wait for the copies.
void AddOffload(const StageParallelism& parallelism, const HostOffload& offload,
                const StageEnvironment& environment, LayerCost& cost);

// Returns the seconds by which the copies of the optimizer step make the first
// forward pass of an iteration longer than the others.
double OptimizerCopySeconds(const HostBytes& host, double forward_s,
                            const DeviceSpec& device);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_HOST_OFFLOAD_H_
