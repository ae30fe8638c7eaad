#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_LAYER_STAGES_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_LAYER_STAGES_H_

#include <vector>

#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// Returns the stages of which stage s has layers[s] > 0 transformer layers, all
// of the model together. The first also has the embedding, and the last the
// head. With `recompute`, the backward pass recomputes all transformer layers;
// otherwise nothing. Parallelism is the caller's to set.
std::vector<StagePlan> StagesOfLayers(const ModelSpec& model,
                                      const std::vector<int>& layers,
                                      bool recompute);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_LAYER_STAGES_H_
