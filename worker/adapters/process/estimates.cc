#include "worker/adapters/process/estimates.h"

#include <vector>

#include "common/cost/operator_cost.h"
#include "common/cost/stage_cost.h"
#include "tangram/v1/parallelizer_service.pb.h"
#include "worker/adapters/search/slice_layers.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram {
namespace {

v1::OperatorEstimate Encode(const OperatorCost& cost, OpKind op) {
  v1::OperatorEstimate message;
  message.set_name(OpName(op));
  message.set_forward_s(cost.forward_s);
  message.set_backward_s(cost.backward_s);
  message.set_forward_comm_s(cost.forward_comm_s);
  message.set_backward_comm_s(cost.backward_comm_s);
  message.set_parameters(cost.dense_parameters + cost.expert_parameters);
  message.set_saved_bytes(cost.saved_bytes);
  message.set_input_bytes(cost.input_bytes);
  message.set_workspace_bytes(cost.workspace_bytes);
  return message;
}

// Encodes the operators of one kind of layer under one set of degrees.
v1::LayerEstimate EstimateOf(const LayerSpec& layer,
                             const StageParallelism& parallelism,
                             const StageEnvironment& environment) {
  v1::LayerEstimate message;
  message.set_tp_degree(parallelism.tp_degree);
  message.set_dp_degree(parallelism.dp_degree);
  const absl::Span<const OpKind> ops = OperatorsOf(layer);
  const std::vector<OperatorCost> costs =
      EstimateOperators(layer, parallelism, environment);
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    v1::OperatorEstimate& estimate = *message.add_operators();
    estimate = Encode(costs[i], ops[i]);
    estimate.set_boundary_bytes(BoundaryBytes(
        layer, i, environment.pipeline_microbatch_size, environment.training));
  }
  return message;
}

}  // namespace

// Lists every kind of layer under every pair of tp and dp that a stage can
// have.
v1::Estimates EstimatesFor(const ModelSlice& slice, const IslandSpec& island,
                           const ProfileOptions& options) {
  v1::Estimates message;
  message.set_state_bytes_per_parameter(
      ModelStateBytes({.dense = 1}, StageParallelism(), options.training));
  const SliceLayers layers(slice);
  int layer_type = 0;
  for (const LayerSpec& layer : layers.kinds()) {
    const SplitLimits limits({&layer, 1}, options.pipeline_microbatch_size,
                             options.training);
    for (const int size : StageSizes(island, limits, ExtraDegrees())) {
      const StageEnvironment environment = {
          .device = island.device,
          .training = options.training,
          .wiring = WiringOf(island, size),
          .pipeline_microbatch_size = options.pipeline_microbatch_size};
      for (const StageParallelism& parallelism :
           ParallelismsOf(size, island, limits, ExtraDegrees())) {
        *message.add_layers() = EstimateOf(layer, parallelism, environment);
        message.mutable_layers()->rbegin()->set_layer_type(layer_type);
      }
    }
    ++layer_type;
  }
  return message;
}

}  // namespace tangram
