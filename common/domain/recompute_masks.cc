#include "common/domain/recompute_masks.h"

#include <algorithm>

#include "absl/types/span.h"

namespace tangram {

// Bit i of a mask recomputes operator i of the layer.
OpMask WholeLayerMask(const LayerSpec& layer) {
  return (OpMask{1} << OperatorsOf(layer).size()) - 1;
}

OpMask AttentionCoreMask(const LayerSpec& layer) {
  const absl::Span<const OpKind> ops = OperatorsOf(layer);
  const auto core = std::find(ops.begin(), ops.end(), OpKind::kAttentionCore);
  return core == ops.end() ? kRecomputeNone : OpMask{1} << (core - ops.begin());
}

void AppendMask(OpMask mask, std::vector<RecomputeRun>& runs) {
  if (runs.empty() || runs.back().mask != mask) {
    runs.push_back({.num_layers = 0, .mask = mask});
  }
  ++runs.back().num_layers;
}

}  // namespace tangram
