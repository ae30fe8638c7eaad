#include "worker/adapters/aceso/aceso_profile.h"

#include <algorithm>
#include <vector>

#include "common/base/infinity.h"
#include "common/cost/operator_cost.h"
#include "common/cost/stage_cost.h"
#include "worker/adapters/aceso/aceso_layout.h"
#include "worker/adapters/aceso/aceso_recompute_hull.h"
#include "worker/adapters/aceso/aceso_space.h"

namespace tangram::aceso {
namespace {

// The least value of each quantity over all degrees. Each value is a sum over
// the stage's GPUs.
struct OperatorBounds {
  double seconds = kInfinity;  // The one value that is no sum.
  double gpu_seconds = kInfinity;
  double state_bytes = kInfinity;
  double saved_bytes = kInfinity;
  double input_bytes = kInfinity;
};

// Lowers `bounds` to the costs of one choice of degrees on `gpus` GPUs.
void LowerTo(const OperatorCost& cost, double state_bytes, double gpus,
             OperatorBounds& bounds) {
  const double seconds = cost.forward_s + cost.backward_s;
  bounds.seconds = std::min(bounds.seconds, seconds);
  bounds.gpu_seconds = std::min(bounds.gpu_seconds, gpus * seconds);
  bounds.state_bytes = std::min(bounds.state_bytes, gpus * state_bytes);
  bounds.saved_bytes = std::min(bounds.saved_bytes, gpus * cost.saved_bytes);
  bounds.input_bytes = std::min(bounds.input_bytes, gpus * cost.input_bytes);
}

// Returns the bounds of each operator of the layer.
std::vector<OperatorBounds> BoundsOf(const LayerSpec& layer,
                                     const DegreeSpace& space,
                                     const IslandSpec& island,
                                     const ProfileOptions& options) {
  std::vector<OperatorBounds> bounds(OperatorsOf(layer).size());
  for (const Degrees& degrees : space.choices()) {
    const StageParallelism parallelism = {.tp_degree = degrees.tp_degree,
                                          .dp_degree = degrees.dp_degree};
    const std::vector<OperatorCost> costs = EstimateOperators(
        layer, parallelism,
        {.device = island.device,
         .training = options.training,
         .wiring = WiringOf(island, degrees.num_gpus()),
         .pipeline_microbatch_size = options.pipeline_microbatch_size});
    for (size_t i = 0; i < costs.size(); ++i) {
      // The stage of a tied head may have the embedding too.
      const double state_bytes = ModelStateBytes(
          {.dense = costs[i].dense_parameters - costs[i].copied_parameters},
          parallelism, options.training);
      LowerTo(costs[i], state_bytes, degrees.num_gpus(), bounds[i]);
    }
  }
  return bounds;
}

// Returns the activation bytes of one microbatch under the mask that keeps the
// fewest. A cut inside a layer adds only an input to them.
double LeastKeptBytes(const LayerSpec& layer,
                      const std::vector<OperatorBounds>& operators) {
  // With all times 0, the hull ends in the mask that keeps the fewest bytes.
  std::vector<RecomputeOperator> free_to_recompute;
  for (const OperatorBounds& op : operators) {
    free_to_recompute.push_back(
        {.saved_bytes = op.saved_bytes, .input_bytes = op.input_bytes});
  }
  const OpMask mask = layer.kind == LayerKind::kTransformer
                          ? RecomputeHull(free_to_recompute).back()
                          : kRecomputeNone;
  return KeptBytes(free_to_recompute, mask);
}

}  // namespace

// Σ over operators of least GPU-seconds, least time and least state bytes, plus
// for each layer the least activations that it can keep of one microbatch.
PerformanceProfile LowerBounds(const ModelSlice& slice,
                               const IslandSpec& island,
                               const ProfileOptions& options) {
  const SliceLayout layout(slice, island.limits.residual_cuts);
  const DegreeSpace space(layout, island, options.pipeline_microbatch_size);
  if (space.choices().empty()) {
    // No plan is within the limits, so any bound holds.
    IslandSpec free_island = island;
    free_island.limits = {};
    return LowerBounds(slice, free_island, options);
  }
  // Plans add the same terms in other orders. Rounding must not lift the bound
  // above them.
  constexpr double kRoundingMargin = 1 - 1e-9;
  const double growth = 1 + island.device.efficiency.fragmentation;
  PerformanceProfile profile;
  for (const LayerRun& run : slice.runs) {
    const std::vector<OperatorBounds> operators =
        BoundsOf(run.layer, space, island, options);
    for (const OperatorBounds& op : operators) {
      profile.min_gpu_seconds += run.count * op.gpu_seconds;
      profile.min_latency_s += run.count * op.seconds;
      profile.min_total_bytes += run.count * growth * op.state_bytes;
    }
    profile.min_total_bytes +=
        run.count * growth * LeastKeptBytes(run.layer, operators);
  }
  profile.min_gpu_seconds *= kRoundingMargin;
  profile.min_latency_s *= kRoundingMargin;
  profile.min_total_bytes *= kRoundingMargin;
  return profile;
}

}  // namespace tangram::aceso
