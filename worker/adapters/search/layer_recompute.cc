#include "worker/adapters/search/layer_recompute.h"

#include "common/domain/recompute_masks.h"

namespace tangram {

OpMask MaskOf(const LayerSpec& layer, LayerRecompute recompute) {
  if (layer.kind != LayerKind::kTransformer) return kRecomputeNone;
  switch (recompute) {
    case LayerRecompute::kNone:
      return kRecomputeNone;
    case LayerRecompute::kAttentionCore:
      return AttentionCoreMask(layer);
    case LayerRecompute::kWholeLayer:
      return WholeLayerMask(layer);
  }
  return kRecomputeNone;
}

}  // namespace tangram
