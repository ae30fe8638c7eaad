#ifndef TANGRAM_COMMON_COST_HOST_OFFLOAD_H_
#define TANGRAM_COMMON_COST_HOST_OFFLOAD_H_

#include "common/cost/model_state.h"
#include "common/cost/stage_cost.h"

// What a stage keeps in host memory costs; inside common/cost only. The model
// is Mist's (2503.19050 §5): every pass of a layer copies in what it reads and
// out what it leaves, beside its compute and collectives, so what does not fit
// beside them is paid, and the copies slow the compute down a little. A forward
// pass reads the weights and leaves activations; a backward pass reads weights,
// gradients so far and activations, and leaves gradients.
//
// The optimizer steps on the GPU, whose memory is ten to forty times faster
// than a processor's: once an iteration, beside the first forward pass, state
// and gradients come in, and state and new weights go out (Mist defers the step
// until then). ZeRO-Offload (2101.06840) steps on the processor instead, with
// the same bytes over the link, half of them, and the processor's memory in
// their way.
namespace tangram {

// Bytes of model state and activations by kind.
struct HostBytes {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
};

// What of a GPU's `state` and its `kept_bytes` of activations is on the host.
HostBytes OnHost(const ModelState& state, double kept_bytes,
                 const HostOffload& offload);

// Moves that share of the layer's activations to the host, with the buffers
// that copying needs, and makes its passes wait for the copies.
void AddOffload(const StageParallelism& parallelism, const HostOffload& offload,
                const StageEnvironment& environment, LayerCost& cost);

// What the copies of the optimizer step make the first forward pass of an
// iteration longer than the others.
double OptimizerCopySeconds(const HostBytes& host, double forward_s,
                            const DeviceSpec& device);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_HOST_OFFLOAD_H_
