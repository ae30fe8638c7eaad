#include "worker/adapters/search/layer_recompute.h"

#include <algorithm>

namespace tangram {

// Bit i of a mask recomputes operator i of the layer.
OpMask MaskOf(const LayerSpec& layer, LayerRecompute recompute) {
  if (layer.kind != LayerKind::kTransformer) return kRecomputeNone;
  const absl::Span<const OpKind> ops = OperatorsOf(layer);
  switch (recompute) {
    case LayerRecompute::kNone:
      return kRecomputeNone;
    case LayerRecompute::kAttentionCore: {
      const auto core =
          std::find(ops.begin(), ops.end(), OpKind::kAttentionCore);
      return OpMask{1} << (core - ops.begin());
    }
    case LayerRecompute::kWholeLayer:
      return (OpMask{1} << ops.size()) - 1;
  }
  return kRecomputeNone;
}

void AppendMask(OpMask mask, std::vector<RecomputeRun>& runs) {
  if (runs.empty() || runs.back().mask != mask) {
    runs.push_back({.num_layers = 0, .mask = mask});
  }
  ++runs.back().num_layers;
}

}  // namespace tangram
