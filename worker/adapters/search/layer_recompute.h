#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_RECOMPUTE_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_RECOMPUTE_H_

#include <vector>

#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// What may be recomputed in a transformer layer: the choices that training
// frameworks offer by a flag.
enum class LayerRecompute { kNone, kAttentionCore, kWholeLayer };
inline constexpr LayerRecompute kLayerRecomputes[] = {
    LayerRecompute::kNone, LayerRecompute::kAttentionCore,
    LayerRecompute::kWholeLayer};

// Of an embedding or head nothing is recomputed.
OpMask MaskOf(const LayerSpec& layer, LayerRecompute recompute);

// Adds one more layer to the end of `runs`.
void AppendMask(OpMask mask, std::vector<RecomputeRun>& runs);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_RECOMPUTE_H_
