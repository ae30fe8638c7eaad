#include "coordinator/planners/rivals/megatron_uniform/uniform_strategies.h"

#include <algorithm>
#include <numeric>

#include "common/domain/stage_rules.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"

namespace tangram {
namespace {

// Embedding and head are no transformer layers.
int NumBlocks(int num_layers) { return num_layers - 2; }

bool SplitsModel(const ModelSpec& model, int tp_degree) {
  return std::all_of(model.layers.begin(), model.layers.end(),
                     [&](const LayerSpec& layer) {
                       return layer.kind != LayerKind::kTransformer ||
                              SplitsHeads(layer, tp_degree);
                     });
}

// Degrees and stages; the other fields keep their defaults.
std::vector<UniformStrategy> Degrees(const ModelSpec& model,
                                     const Cluster& cluster,
                                     int global_batch_size, bool equal_stages) {
  int common_gpus = 0;
  for (const Node& node : cluster.nodes) {
    common_gpus = std::gcd(common_gpus, node.num_gpus);
  }
  const int blocks = NumBlocks(model.num_layers());
  std::vector<UniformStrategy> degrees;
  for (const int tp : DivisorsOf(common_gpus)) {
    if (!SplitsModel(model, tp)) continue;
    const int groups = cluster.num_gpus() / tp;
    for (const int dp : DivisorsOf(groups)) {
      const int stages = groups / dp;
      if (global_batch_size % dp != 0 || stages > blocks) continue;
      if (equal_stages && blocks % stages != 0) continue;
      degrees.push_back(
          {.tp_degree = tp, .dp_degree = dp, .num_stages = stages});
    }
  }
  return degrees;
}

}  // namespace

std::vector<UniformStrategy> UniformStrategies(const ModelSpec& model,
                                               const Cluster& cluster,
                                               int global_batch_size) {
  std::vector<UniformStrategy> degrees =
      Degrees(model, cluster, global_batch_size, /*equal_stages=*/true);
  if (degrees.empty()) {
    degrees = Degrees(model, cluster, global_batch_size, false);
  }
  std::vector<UniformStrategy> strategies;
  for (UniformStrategy strategy : degrees) {
    for (const int samples :
         DivisorsOf(global_batch_size / strategy.dp_degree)) {
      strategy.samples = samples;
      for (const BlockRecompute recompute :
           {BlockRecompute::kNone, BlockRecompute::kAttention,
            BlockRecompute::kFull}) {
        strategy.recompute = recompute;
        strategies.push_back(strategy);
      }
    }
  }
  return strategies;
}

std::vector<int> UniformBounds(int num_layers, int num_stages) {
  const int blocks = NumBlocks(num_layers);
  std::vector<int> bounds = {0};
  for (int s = 1; s < num_stages; ++s) {
    bounds.push_back(1 + s * (blocks / num_stages) +
                     std::min(s, blocks % num_stages));
  }
  bounds.push_back(num_layers);
  return bounds;
}

}  // namespace tangram
