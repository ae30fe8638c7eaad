#include "worker/adapters/mist/degree_costs.h"

#include <algorithm>

#include "common/domain/recompute_masks.h"

namespace tangram::mist {
namespace {

constexpr int kNumRecomputes = static_cast<int>(std::size(kLayerRecomputes));

bool IsTransformer(const LayerSpec& layer) {
  return layer.kind == LayerKind::kTransformer;
}

// Returns the bytes that `recomputed` frees for each second that it adds.
double BytesFreedPerSecond(const LayerCost& whole,
                           const LayerCost& recomputed) {
  return (whole.activation_bytes - recomputed.activation_bytes) /
         (recomputed.backward_s - whole.backward_s);
}

}  // namespace

DegreeCosts::DegreeCosts(const SliceLayers& layers, const IslandSpec& island,
                         const ParallelizeOptions& options,
                         absl::Span<const HostOffload> offloads,
                         const StageParallelism& parallelism)
    : layers_(layers),
      offloads_(offloads),
      limits_(island.limits),
      parallelism_(parallelism),
      environment_{
          .device = island.device,
          .training = options.training,
          .wiring = WiringOf(island, parallelism.num_gpus()),
          .pipeline_microbatch_size = options.pipeline_microbatch_size},
      kind_costs_(offloads.size() * kNumRecomputes) {
  recomputes_cores_ = CoresAreCheaper();
}

// Returns whether recomputing the attention core frees more bytes per second
// than recomputing the whole layer, for some kind of layer.
bool DegreeCosts::CoresAreCheaper() {
  const auto none = KindCosts(0, LayerRecompute::kNone);
  const auto core = KindCosts(0, LayerRecompute::kAttentionCore);
  const auto whole = KindCosts(0, LayerRecompute::kWholeLayer);
  for (size_t kind = 0; kind < none.size(); ++kind) {
    if (IsTransformer(layers_.kinds()[kind]) &&
        BytesFreedPerSecond(none[kind], core[kind]) >
            BytesFreedPerSecond(none[kind], whole[kind])) {
      return true;
    }
  }
  return false;
}

// Estimates the kinds of layers on first use.
absl::Span<const LayerCost> DegreeCosts::KindCosts(int offload,
                                                   LayerRecompute recompute) {
  std::vector<LayerCost>& costs =
      kind_costs_[offload * kNumRecomputes + static_cast<int>(recompute)];
  if (costs.empty()) costs = EstimateKinds(offloads_[offload], recompute);
  return costs;
}

std::vector<LayerCost> DegreeCosts::EstimateKinds(
    const HostOffload& offload, LayerRecompute recompute) const {
  std::vector<LayerCost> costs;
  for (const LayerSpec& kind : layers_.kinds()) {
    const int num_ops = static_cast<int>(OperatorsOf(kind).size());
    costs.push_back(
        EstimateLayer(kind, {0, num_ops, MaskWithin(limits_, kind, recompute)},
                      parallelism_, environment_, offload));
  }
  return costs;
}

std::vector<double> DegreeCosts::LayerSeconds() {
  const auto costs = KindCosts(0, LayerRecompute::kNone);
  std::vector<double> seconds;
  for (int layer = 0; layer < layers_.size(); ++layer) {
    const LayerCost& cost = costs[layers_.kind_of(layer)];
    seconds.push_back(cost.forward_s + cost.backward_s);
  }
  return seconds;
}

// Only the first layer can be an embedding, and only the last a head.
RecomputeSteps DegreeCosts::StepsOf(int begin, int end) const {
  const bool embeds = !IsTransformer(layers_.at(begin));
  const bool has_head = end - begin > 1 && !IsTransformer(layers_.at(end - 1));
  return {.num_layers = end - begin - (embeds ? 1 : 0) - (has_head ? 1 : 0),
          .cores = recomputes_cores_};
}

// Splits the layers after the number of steps: see RecomputeSteps.
DegreeCosts::Recomputed DegreeCosts::RecomputedBy(int begin, int end,
                                                  int steps) const {
  const RecomputeSteps possible = StepsOf(begin, end);
  const int first = begin + (IsTransformer(layers_.at(begin)) ? 0 : 1);
  if (!possible.cores) {
    return {first + steps, LayerRecompute::kWholeLayer, LayerRecompute::kNone};
  }
  if (steps <= possible.num_layers) {
    return {first + steps, LayerRecompute::kAttentionCore,
            LayerRecompute::kNone};
  }
  return {first + steps - possible.num_layers, LayerRecompute::kWholeLayer,
          LayerRecompute::kAttentionCore};
}

// Sums two ranges of layers, each of one recomputation.
StageCost DegreeCosts::CostOf(int begin, int end, int offload, int steps) {
  const Recomputed recomputed = RecomputedBy(begin, end, steps);
  LayerCost sum = layers_.Sum(begin, recomputed.middle,
                              KindCosts(offload, recomputed.before));
  AddLayers(
      layers_.Sum(recomputed.middle, end, KindCosts(offload, recomputed.after)),
      1, sum);
  return StageCostOf(sum, parallelism_, environment_, offloads_[offload]);
}

StagePlan DegreeCosts::PlanOf(int begin, int end, int offload,
                              int steps) const {
  const Recomputed recomputed = RecomputedBy(begin, end, steps);
  StagePlan plan = {.begin = {begin, 0},
                    .end = {end, 0},
                    .parallelism = parallelism_,
                    .offload = offloads_[offload]};
  for (int layer = begin; layer < end; ++layer) {
    AppendMask(MaskWithin(limits_, layers_.at(layer),
                          layer < recomputed.middle ? recomputed.before
                                                    : recomputed.after),
               plan.recompute);
  }
  return plan;
}

}  // namespace tangram::mist
