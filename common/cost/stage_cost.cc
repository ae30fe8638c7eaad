#include "common/cost/stage_cost.h"

#include <algorithm>
#include <optional>

#include "common/cost/host_offload.h"
#include "common/cost/layer_estimator.h"
#include "common/cost/pass_seconds.h"

namespace tangram {
namespace {

// Walks along the recompute runs of a stage.
class MaskCursor {
 public:
  explicit MaskCursor(absl::Span<const RecomputeRun> runs) : runs_(runs) {
    SkipEmpty();
  }
  OpMask mask() const { return runs_.empty() ? kRecomputeNone : runs_[0].mask; }
  // Returns the number of layers from here on with this mask, at most `limit`.
  int Length(int limit) const {
    return runs_.empty() ? limit : std::min(limit, runs_[0].num_layers - used_);
  }
  void Advance(int num_layers) {
    used_ += num_layers;
    SkipEmpty();
  }

 private:
  void SkipEmpty() {
    while (!runs_.empty() && used_ >= runs_[0].num_layers) {
      used_ -= runs_[0].num_layers;
      runs_.remove_prefix(1);
    }
  }
  absl::Span<const RecomputeRun> runs_;
  int used_ = 0;
};

// Returns the number of layers from `layer` on, at most `length`, of which the
// stage holds the same operators. The first and the last layer may be cut.
int UniformLength(const StagePlan& stage, int layer, int length) {
  if (layer == stage.end.layer) return 1;
  if (layer == stage.begin.layer && stage.begin.op > 0) return 1;
  return std::min(length, stage.end.layer - layer);
}

// The runtime's reserve is outside the allocator, so it does not fragment.
// State that was measured beyond the model is on the host in the modelled
// share.
StageMemory MemoryOf(const LayerCost& sum, const ModelState& state,
                     const HostBytes& host,
                     const DeviceEfficiency& efficiency) {
  const double growth = 1 + efficiency.fragmentation;
  const double host_state_bytes =
      host.weights + host.gradients + host.optimizer;
  const double host_share =
      host_state_bytes > 0 ? host_state_bytes / state.total() : 0;
  const double beyond_bytes = sum.state_beyond_model_bytes;
  const double transient_bytes =
      std::max(sum.head_transient_bytes,
               sum.body_transient_bytes - sum.head_activation_bytes);
  return {.static_bytes = efficiency.reserved_bytes +
                          growth * (state.total() - host_state_bytes +
                                    beyond_bytes * (1 - host_share)),
          .weight_bytes = growth * (state.weights - host.weights),
          .gradient_bytes = growth * (state.gradients - host.gradients),
          .optimizer_bytes = growth * (state.optimizer - host.optimizer),
          .activation_bytes = growth * sum.activation_bytes,
          .transient_bytes = growth * transient_bytes,
          .host_static_bytes = host_state_bytes + beyond_bytes * host_share,
          .host_activation_bytes = sum.host_activation_bytes};
}

}  // namespace

// Walks over stretches of layers with the same kind, the same operators and the
// same mask, and asks for the cost of one layer of each.
StageCost EstimateStage(absl::Span<const LayerRun> runs, const StagePlan& stage,
                        const StageEnvironment& environment,
                        LayerCostOf layer_cost) {
  LayerCost sum;
  MaskCursor masks(stage.recompute);
  int layer = stage.begin.layer;
  const int layers_end = stage.end.layer + (stage.end.op > 0 ? 1 : 0);
  int run_end = 0;
  for (int r = 0; r < static_cast<int>(runs.size()); ++r) {
    const LayerRun& run = runs[r];
    run_end += run.count;
    const int end = std::min(run_end, layers_end);
    while (layer < end) {
      const int length = UniformLength(stage, layer, masks.Length(end - layer));
      const int num_ops = static_cast<int>(OperatorsOf(run.layer).size());
      const LayerPart part = {
          .op_begin = layer == stage.begin.layer ? stage.begin.op : 0,
          .op_end = layer == stage.end.layer ? stage.end.op : num_ops,
          .recomputed = masks.mask()};
      AddLayers(layer_cost(r, part), length, sum);
      layer += length;
      masks.Advance(length);
    }
  }
  return StageCostOf(sum, stage.parallelism, environment, stage.offload);
}

StageCost EstimateStage(absl::Span<const LayerRun> runs, const StagePlan& stage,
                        const StageEnvironment& environment) {
  // The estimator of all operators of a layer of the last run.
  std::optional<LayerEstimator> whole;
  int run_of_whole = -1;
  return EstimateStage(
      runs, stage, environment, [&](int run, const LayerPart& part) {
        const LayerSpec& layer = runs[run].layer;
        const int num_ops = static_cast<int>(OperatorsOf(layer).size());
        if (part.op_begin > 0 || part.op_end < num_ops) {
          return EstimateLayer(layer, part, stage.parallelism, environment,
                               stage.offload);
        }
        if (run_of_whole != run) {
          whole.emplace(layer, 0, num_ops, stage.parallelism, environment);
          run_of_whole = run;
        }
        return whole->Cost(part.recomputed, stage.offload);
      });
}

// A pass takes as long as the slower of device and host, or a little longer:
//   forward = PassSecondsOf(Σ device, Σ host), and likewise backward.
StageCost StageCostOf(const LayerCost& layers,
                      const StageParallelism& parallelism,
                      const StageEnvironment& environment,
                      const HostOffload& offload) {
  const LayerCost sum = OnOneStage(layers);
  const PassTimes passes = {
      .forward_s = PassSecondsOf(sum.forward_s, sum.forward_host_s),
      .backward_s = PassSecondsOf(sum.backward_s, sum.backward_host_s)};
  const ModelState state =
      ModelStateOf(sum.parameters, parallelism, environment);
  HostBytes host = OnHost(state, /*kept_bytes=*/0, offload);
  host.activations = sum.host_activation_bytes;
  return {.forward_s = passes.forward_s,
          .backward_s = passes.backward_s,
          .recompute_s = sum.recompute_s,
          .comm_s = sum.comm_s,
          .forward_copy_s = sum.forward_copy_s,
          .backward_copy_s = sum.backward_copy_s,
          .sync_s = GradientSyncSeconds(sum.parameters, passes, parallelism,
                                        environment),
          .optimizer_s =
              OptimizerSeconds(sum.parameters, parallelism, environment) +
              sum.optimizer_beyond_model_s +
              OptimizerCopySeconds(host, passes.forward_s - sum.forward_copy_s,
                                   environment.device),
          .measured_s = sum.measured_s,
          .memory = MemoryOf(sum, state, host, environment.device.efficiency)};
}

StageMemory StageMemoryOf(const LayerCost& layers,
                          const StageParallelism& parallelism,
                          const StageEnvironment& environment) {
  const LayerCost sum = OnOneStage(layers);
  return MemoryOf(sum, ModelStateOf(sum.parameters, parallelism, environment),
                  HostBytes{}, environment.device.efficiency);
}

}  // namespace tangram
