#ifndef TANGRAM_COMMON_DOMAIN_RECOMPUTE_MASKS_H_
#define TANGRAM_COMMON_DOMAIN_RECOMPUTE_MASKS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// The recomputation of a transformer layer, as training frameworks offer it by
// a flag: nothing, the attention core alone ("selective"), or the whole layer
// ("full").
enum class LayerRecompute { kNone, kAttentionCore, kWholeLayer };
inline constexpr LayerRecompute kLayerRecomputes[] = {
    LayerRecompute::kNone, LayerRecompute::kAttentionCore,
    LayerRecompute::kWholeLayer};

// "none", "selective" or "full", as Megatron-LM calls them.
const char* RecomputeName(LayerRecompute recompute);

// Returns a mask of every operator of `layer`.
OpMask WholeLayerMask(const LayerSpec& layer);

// Returns a mask of the attention core; kRecomputeNone in a layer without
// attention.
OpMask AttentionCoreMask(const LayerSpec& layer);

// Returns the mask of a layer. Embedding and head recompute nothing.
OpMask MaskOf(const LayerSpec& layer, LayerRecompute recompute);

// Returns a mask of the operators of layer `layer` that the stage runs, and
// kDropOutputs.
OpMask OperatorsIn(const StagePlan& stage, int layer);

// Returns whether all layers of the stage hold, with their index and mask. The
// stage's layers count from the start of `runs`. Walks the runs of layers
// beside the runs of masks, so that a deep model takes O(layers) and not its
// square.
bool AllLayers(
    const StagePlan& stage, absl::Span<const LayerRun> runs,
    absl::FunctionRef<bool(int index, const LayerSpec& layer, OpMask mask)>
        holds);

// Appends one layer with `mask` to `runs`.
void AppendMask(OpMask mask, std::vector<RecomputeRun>& runs);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_RECOMPUTE_MASKS_H_
