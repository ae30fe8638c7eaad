#include "coordinator/planners/rivals/listed/whole_layers.h"

#include <vector>

#include "common/domain/recompute_masks.h"

namespace tangram {

StagePlan WholeLayers(const ModelSpec& model, int begin_layer, int end_layer,
                      const StageParallelism& parallelism, bool recompute) {
  StagePlan stage{.begin = {begin_layer, 0},
                  .end = {end_layer, 0},
                  .parallelism = parallelism};
  for (int l = begin_layer; l < end_layer; ++l) {
    const LayerSpec& layer = model.layers[l];
    const bool all = recompute && layer.kind == LayerKind::kTransformer;
    AppendMask(all ? WholeLayerMask(layer) : kRecomputeNone, stage.recompute);
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
    stages.push_back(WholeLayers(model, begin, end, {}, recompute));
    begin = end;
  }
  return stages;
}

}  // namespace tangram
