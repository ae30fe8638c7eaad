#include "coordinator/planners/rivals/listed/layer_stages.h"

#include <vector>

#include "common/domain/recompute_masks.h"

namespace tangram {

std::vector<StagePlan> StagesOfLayers(const ModelSpec& model,
                                      const std::vector<int>& layers,
                                      bool recompute) {
  std::vector<StagePlan> stages;
  int begin = 0;
  int end = 1;  // After the embedding.
  for (size_t s = 0; s < layers.size(); ++s) {
    end += layers[s];
    if (s + 1 == layers.size()) end = model.num_layers();
    StagePlan& stage =
        stages.emplace_back(StagePlan{.begin = {begin, 0}, .end = {end, 0}});
    for (; begin < end; ++begin) {
      const LayerSpec& layer = model.layers[begin];
      const bool again = recompute && layer.kind == LayerKind::kTransformer;
      AppendMask(again ? WholeLayerMask(layer) : kRecomputeNone,
                 stage.recompute);
    }
  }
  return stages;
}

}  // namespace tangram
