#include "coordinator/planners/rivals/listed/whole_layers.h"

#include "common/domain/recompute_masks.h"

namespace tangram {

OpMask MaskOf(const LayerSpec& layer, LayerRecompute recompute) {
  if (layer.kind != LayerKind::kTransformer) return kRecomputeNone;
  switch (recompute) {
    case LayerRecompute::kNone:
      return kRecomputeNone;
    case LayerRecompute::kAttention:
      return AttentionCoreMask(layer);
    case LayerRecompute::kFull:
      return WholeLayerMask(layer);
  }
  return kRecomputeNone;
}

StagePlan WholeLayers(const ModelSpec& model, int begin, int end,
                      const StageParallelism& parallelism,
                      LayerRecompute recompute) {
  StagePlan stage{
      .begin = {begin, 0}, .end = {end, 0}, .parallelism = parallelism};
  for (int layer = begin; layer < end; ++layer) {
    AppendMask(MaskOf(model.layers[layer], recompute), stage.recompute);
  }
  return stage;
}

std::vector<GpuId> GpusInOrder(const Cluster& cluster) {
  std::vector<GpuId> gpus;
  for (int node = 0; node < static_cast<int>(cluster.nodes.size()); ++node) {
    for (int i = 0; i < cluster.nodes[node].num_gpus; ++i) {
      gpus.push_back({node, i});
    }
  }
  return gpus;
}

}  // namespace tangram
