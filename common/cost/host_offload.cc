#include "common/cost/host_offload.h"

#include <algorithm>

namespace tangram {
namespace {

// Returns the time of simultaneous copies in both directions: the longer copy
// plus the slowdown that the directions cause each other.
double CopySeconds(double in_bytes, double out_bytes,
                   const DeviceSpec& device) {
  const double longer = std::max(in_bytes, out_bytes);
  const double shorter = std::min(in_bytes, out_bytes);
  return (longer + device.efficiency.duplex_penalty * shorter) /
         device.host.bandwidth_bytes_per_s;
}

// Returns the time that copies add to a pass of `pass_s`.
double AddedSeconds(double in_bytes, double out_bytes, double pass_s,
                    const DeviceSpec& device) {
  return ExposedSeconds(CopySeconds(in_bytes, out_bytes, device), pass_s,
                        device.efficiency.copy_penalty);
}

// Returns the buffers on the GPU that offloading needs. Weights and gradients
// need two buffers, for the present layer and the next; ZeRO provides one of
// them. A layer's optimizer state needs one buffer. Activations need a second
// one for the layer that is being copied.
double BufferBytes(const StageParallelism& parallelism,
                   const HostOffload& offload, const HostBytes& host,
                   const StageEnvironment& environment, const LayerCost& cost) {
  const double parameters = cost.parameters.dense + cost.parameters.expert;
  const double layer_bytes =
      parameters * ElementBytes(environment.training.precision);
  const int weight_buffers = parallelism.zero_stage >= 3 ? 1 : 2;
  const int gradient_buffers = parallelism.zero_stage >= 2 ? 1 : 2;
  return layer_bytes * ((offload.weights > 0 ? weight_buffers : 0) +
                        (offload.gradients > 0 ? gradient_buffers : 0)) +
         host.optimizer + 2 * host.activations;
}

}  // namespace

HostBytes OnHost(const ModelState& state, double kept_bytes,
                 const HostOffload& offload) {
  return {.weights = state.weights * offload.weights,
          .gradients = state.gradients * offload.gradients,
          .optimizer = state.optimizer * offload.optimizer,
          .activations = kept_bytes * offload.activations};
}

void AddOffload(const StageParallelism& parallelism, const HostOffload& offload,
                const StageEnvironment& environment, LayerCost& cost) {
  if (offload.none()) return;
  const ModelState state =
      ModelStateOf(cost.parameters, parallelism, environment);
  const HostBytes host = OnHost(state, cost.activation_bytes, offload);
  cost.transient_bytes +=
      BufferBytes(parallelism, offload, host, environment, cost);
  cost.activation_bytes -= host.activations;
  cost.host_activation_bytes = host.activations;
  cost.forward_copy_s = AddedSeconds(host.weights, host.activations,
                                     cost.forward_s, environment.device);
  cost.backward_copy_s =
      AddedSeconds(host.weights + host.gradients + host.activations,
                   host.gradients, cost.backward_s, environment.device);
  cost.forward_s += cost.forward_copy_s;
  cost.backward_s += cost.backward_copy_s;
}

double OptimizerCopySeconds(const HostBytes& host, double forward_s,
                            const DeviceSpec& device) {
  if (host.optimizer == 0 && host.gradients == 0) return 0;
  const double first_s = AddedSeconds(
      host.optimizer + host.gradients,
      host.optimizer + host.weights + host.activations, forward_s, device);
  const double other_s =
      AddedSeconds(host.weights, host.activations, forward_s, device);
  return std::max(0.0, first_s - other_s);
}

}  // namespace tangram
