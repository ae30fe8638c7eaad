#include "worker/adapters/search/lower_bounds.h"

#include <algorithm>
#include <optional>

#include "common/base/infinity.h"
#include "common/cost/layer_estimator.h"
#include "common/cost/stage_cost.h"
#include "common/domain/recompute_masks.h"
#include "worker/adapters/search/layer_costs.h"

namespace tangram {
namespace {

// Sums over a plan's stages round differently from sums over layers.
constexpr double kRoundedDown = 1 - 1e-9;

// No plan seen yet.
constexpr double kNothingYet = kInfinity;

// The least bytes of the layer's model state on a GPU: under ZeRO 3, and scaled
// by the measured share of the model's figure where a profile has measured
// less. More does not raise the bound, as host memory may hold it.
double LeastStateBytes(const LayerCost& cost,
                       const StageParallelism& parallelism,
                       const StageEnvironment& environment) {
  const double modelled =
      ModelStateBytes(cost.parameters, parallelism, environment.training);
  if (modelled <= 0) return 0;
  const double measured_share =
      std::clamp(1 + cost.state_beyond_model_bytes / modelled, 0.0, 1.0);
  StageParallelism sharded = parallelism;
  sharded.zero_stage = 3;
  return measured_share *
         ModelStateBytes(cost.parameters, sharded, environment.training);
}

// Returns the layer's bytes summed over all GPUs of a stage, under ZeRO 3.
double StageBytes(const LayerCost& cost, const StageParallelism& parallelism,
                  const StageEnvironment& environment) {
  const double on_gpu =
      cost.activation_bytes + LeastStateBytes(cost, parallelism, environment);
  return parallelism.num_gpus() * on_gpu *
         (1 + environment.device.efficiency.fragmentation);
}

// Takes the minimum over all sizes, degrees and recomputation.
PerformanceProfile BoundsOfLayer(const LayerSpec& layer,
                                 const IslandSpec& island,
                                 const ProfileOptions& options,
                                 ExtraDegrees extra) {
  const SplitLimits limits({&layer, 1}, options.pipeline_microbatch_size,
                           options.training);
  const int num_ops = static_cast<int>(OperatorsOf(layer).size());
  LayerCosts::Site* const site = SiteOf(island, options);
  const int kind = site == nullptr ? 0 : site->KindOf(layer);
  PerformanceProfile best = {.min_gpu_seconds = kNothingYet,
                             .min_latency_s = kNothingYet,
                             .min_total_bytes = kNothingYet};
  for (const int size : StageSizes(island, limits, extra)) {
    const StageEnvironment environment = {
        .device = island.device,
        .training = options.training,
        .wiring = WiringOf(island, size),
        .pipeline_microbatch_size = options.pipeline_microbatch_size};
    for (const StageParallelism& parallelism :
         ParallelismsOf(size, island, limits, extra)) {
      std::optional<LayerEstimator> estimator;
      if (site == nullptr) {
        estimator.emplace(layer, 0, num_ops, parallelism, environment);
      }
      std::optional<OpMask> before;
      for (const LayerRecompute recompute : kLayerRecomputes) {
        const OpMask mask = MaskWithin(island.limits, layer, recompute);
        if (mask == before) continue;
        before = mask;
        // The stage may have the embedding too.
        const LayerCost cost = WithoutHeadCopy(
            site == nullptr ? estimator->Cost(mask)
                            : site->Cost(kind, mask, parallelism, environment));
        const double time_s = cost.forward_s + cost.backward_s;
        best.min_gpu_seconds = std::min(best.min_gpu_seconds, size * time_s);
        best.min_latency_s = std::min(best.min_latency_s, time_s);
        best.min_total_bytes = std::min(
            best.min_total_bytes, StageBytes(cost, parallelism, environment));
      }
    }
  }
  return best;
}

}  // namespace

// Σ over layers of (least GPU-seconds, least time, least bytes on all GPUs).
// Each minimum is taken by itself, so no plan is below the sum.
PerformanceProfile LayerwiseLowerBounds(const ModelSlice& slice,
                                        const IslandSpec& island,
                                        const ProfileOptions& options,
                                        ExtraDegrees extra) {
  IslandSpec free_island = island;
  free_island.limits = {};
  PerformanceProfile sum;
  for (const LayerRun& run : slice.runs) {
    PerformanceProfile layer = BoundsOfLayer(run.layer, island, options, extra);
    if (layer.min_gpu_seconds == kNothingYet) {
      // No plan is within the limits, so any bound holds.
      layer = BoundsOfLayer(run.layer, free_island, options, extra);
    }
    sum.min_gpu_seconds += run.count * layer.min_gpu_seconds * kRoundedDown;
    sum.min_latency_s += run.count * layer.min_latency_s * kRoundedDown;
    sum.min_total_bytes += run.count * layer.min_total_bytes * kRoundedDown;
  }
  return sum;
}

}  // namespace tangram
