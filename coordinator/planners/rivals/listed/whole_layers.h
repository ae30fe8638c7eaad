#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_WHOLE_LAYERS_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_WHOLE_LAYERS_H_

#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/recompute_masks.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// Returns a stage of the whole layers [begin, end).
StagePlan WholeLayers(const ModelSpec& model, int begin, int end,
                      const StageParallelism& parallelism,
                      LayerRecompute recompute);

// Returns the stages of which stage s has layers[s] > 0 transformer layers, all
// of the model together. The first also has the embedding, and the last the
// head. With `recompute`, the backward pass recomputes all transformer layers;
// otherwise nothing. Parallelism is the caller's to set.
std::vector<StagePlan> StagesOfLayers(const ModelSpec& model,
                                      const std::vector<int>& layers,
                                      bool recompute);

// Returns all GPUs of the cluster in the order of its nodes.
std::vector<GpuId> GpusInOrder(const Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_WHOLE_LAYERS_H_
