#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_MEGATRON_UNIFORM_UNIFORM_STRATEGIES_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_MEGATRON_UNIFORM_UNIFORM_STRATEGIES_H_

#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "coordinator/planners/rivals/listed/whole_layers.h"

// The plans that an expert tries with Megatron-LM (Narayanan et al., SC 2021,
// arXiv 2104.04473, section 3): the same degrees for every GPU, and equal
// stages. Pure.
namespace tangram {

struct UniformStrategy {
  int tp_degree = 1;
  int dp_degree = 1;
  int num_stages = 1;
  // Whether embedding and head count as layers when stages are divided
  // (--account-for-embedding-in-pipeline-split, -loss-).
  bool counts_ends = false;
  int samples = 1;  // In a microbatch of one replica.
  LayerRecompute recompute = LayerRecompute::kNone;

  int num_gpus() const { return tp_degree * dp_degree * num_stages; }
  bool operator==(const UniformStrategy&) const = default;
};

// Returns all strategies that use every GPU: tp divides the heads and the GPUs
// of every node, dp divides the batch, and the stages divide the transformer
// layers, or else all layers. If no such stages exist, they may differ by one
// layer.
std::vector<UniformStrategy> UniformStrategies(const ModelSpec& model,
                                               const Cluster& cluster,
                                               int global_batch_size);

// Returns the bounds of the strategy's stages, the first ones larger by one
// layer if need be: stage s has layers [bounds[s], bounds[s + 1]). Embedding
// and head belong to the first and the last. There are as many layers to divide
// as stages, at least.
std::vector<int> UniformBounds(int num_layers, const UniformStrategy& strategy);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_MEGATRON_UNIFORM_UNIFORM_STRATEGIES_H_
