#include "coordinator/planners/rivals/listed/whole_layers.h"

namespace tangram {

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

std::vector<StagePlan> StagesOfLayers(const ModelSpec& model,
                                      const std::vector<int>& layers,
                                      bool recompute) {
  std::vector<StagePlan> stages;
  int begin = 0;
  int end = 1;  // After the embedding.
  for (size_t s = 0; s < layers.size(); ++s) {
    end += layers[s];
    if (s + 1 == layers.size()) end = model.num_layers();
    stages.push_back(WholeLayers(
        model, begin, end, /*parallelism=*/{},
        recompute ? LayerRecompute::kWholeLayer : LayerRecompute::kNone));
    begin = end;
  }
  return stages;
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
