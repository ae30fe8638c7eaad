#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_WHOLE_LAYERS_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_WHOLE_LAYERS_H_

#include <vector>

#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// Returns the stage of the layers [begin_layer, end_layer) of `model`, where 0
// is the embedding. With `recompute`, the backward pass recomputes all
// transformer layers; otherwise it recomputes nothing.
StagePlan WholeLayers(const ModelSpec& model, int begin_layer, int end_layer,
                      const StageParallelism& parallelism, bool recompute);

// Returns the stages of which stage s has layers[s] > 0 transformer layers. The
// first also has the embedding, and the last the head. Parallelism is the
// caller's to set.
std::vector<StagePlan> StagesOfLayers(const ModelSpec& model,
                                      const std::vector<int>& layers,
                                      bool recompute);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_WHOLE_LAYERS_H_
