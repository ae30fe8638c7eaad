#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_RECOMPUTE_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_RECOMPUTE_H_

#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// The recomputation of a transformer layer, as training frameworks offer it by
// a flag: nothing, the attention core alone, or the whole layer.
enum class LayerRecompute { kNone, kAttentionCore, kWholeLayer };
inline constexpr LayerRecompute kLayerRecomputes[] = {
    LayerRecompute::kNone, LayerRecompute::kAttentionCore,
    LayerRecompute::kWholeLayer};

// Returns the mask of a layer. Embedding and head recompute nothing.
OpMask MaskOf(const LayerSpec& layer, LayerRecompute recompute);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_RECOMPUTE_H_
