#include "coordinator/planners/rivals/megatron_uniform/uniform_strategies.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "common/domain/stage_rules.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"

namespace tangram {
namespace {

// Returns the layers that are divided among stages.
int NumDivided(int num_layers, bool counts_ends) {
  return counts_ends ? num_layers : num_layers - 2;
}

bool SplitsModel(const ModelSpec& model, int tp_degree) {
  return std::all_of(model.layers.begin(), model.layers.end(),
                     [&](const LayerSpec& layer) {
                       return layer.kind != LayerKind::kTransformer ||
                              SplitsMixer(layer, tp_degree);
                     });
}

// Returns UniformStrategy::counts_ends for such a number of stages. Empty: they
// cannot be.
std::optional<bool> CountsEnds(int num_layers, int num_stages,
                               bool allows_unequal) {
  for (const bool allows : {false, true}) {
    for (const bool counts_ends : {false, true}) {
      const int layers = NumDivided(num_layers, counts_ends);
      const bool divides = layers % num_stages == 0;
      if (num_stages <= layers && (divides || (allows && allows_unequal))) {
        return counts_ends;
      }
    }
  }
  return std::nullopt;
}

// Degrees and stages; the other fields keep their defaults.
std::vector<UniformStrategy> Degrees(const ModelSpec& model,
                                     const Cluster& cluster,
                                     int global_batch_size,
                                     bool allows_unequal) {
  int common_gpus = 0;
  for (const Node& node : cluster.nodes) {
    common_gpus = std::gcd(common_gpus, node.num_gpus);
  }
  std::vector<UniformStrategy> degrees;
  for (const int tp : DivisorsOf(common_gpus)) {
    if (!SplitsModel(model, tp)) continue;
    const int groups = cluster.num_gpus() / tp;
    for (const int dp : DivisorsOf(groups)) {
      const int stages = groups / dp;
      const std::optional<bool> counts_ends =
          CountsEnds(model.num_layers(), stages, allows_unequal);
      if (global_batch_size % dp != 0 || !counts_ends.has_value()) continue;
      degrees.push_back({.tp_degree = tp,
                         .dp_degree = dp,
                         .num_stages = stages,
                         .counts_ends = *counts_ends});
    }
  }
  return degrees;
}

}  // namespace

std::vector<UniformStrategy> UniformStrategies(const ModelSpec& model,
                                               const Cluster& cluster,
                                               int global_batch_size) {
  std::vector<UniformStrategy> degrees =
      Degrees(model, cluster, global_batch_size, /*allows_unequal=*/false);
  if (degrees.empty()) {
    degrees =
        Degrees(model, cluster, global_batch_size, /*allows_unequal=*/true);
  }
  std::vector<UniformStrategy> strategies;
  for (UniformStrategy strategy : degrees) {
    for (const int samples :
         DivisorsOf(global_batch_size / strategy.dp_degree)) {
      strategy.samples = samples;
      for (const LayerRecompute recompute :
           {LayerRecompute::kNone, LayerRecompute::kAttentionCore,
            LayerRecompute::kWholeLayer}) {
        strategy.recompute = recompute;
        strategies.push_back(strategy);
      }
    }
  }
  return strategies;
}

std::vector<int> UniformBounds(int num_layers,
                               const UniformStrategy& strategy) {
  const int stages = strategy.num_stages;
  const int divided = NumDivided(num_layers, strategy.counts_ends);
  const int first = strategy.counts_ends ? 0 : 1;
  std::vector<int> bounds = {0};
  for (int s = 1; s < stages; ++s) {
    bounds.push_back(first + s * (divided / stages) +
                     std::min(s, divided % stages));
  }
  bounds.push_back(num_layers);
  return bounds;
}

}  // namespace tangram
