#include "common/domain/recompute_masks.h"

#include <algorithm>

#include "absl/types/span.h"

namespace tangram {

const char* RecomputeName(LayerRecompute recompute) {
  switch (recompute) {
    case LayerRecompute::kNone:
      return "none";
    case LayerRecompute::kAttentionCore:
      return "selective";
    case LayerRecompute::kWholeLayer:
      return "full";
  }
  return "";
}

// Bit i of a mask recomputes operator i of the layer.
OpMask WholeLayerMask(const LayerSpec& layer) {
  return (OpMask{1} << OperatorsOf(layer).size()) - 1;
}

OpMask AttentionCoreMask(const LayerSpec& layer) {
  const absl::Span<const OpKind> ops = OperatorsOf(layer);
  const auto core = std::find(ops.begin(), ops.end(), OpKind::kAttentionCore);
  return core == ops.end() ? kRecomputeNone : OpMask{1} << (core - ops.begin());
}

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

OpMask OperatorsIn(const StagePlan& stage, int layer) {
  OpMask mask = ~OpMask{0};
  if (layer == stage.begin.layer) mask &= ~OpMask{0} << stage.begin.op;
  if (layer == stage.end.layer) mask &= (OpMask{1} << stage.end.op) - 1;
  return mask | kDropOutputs;
}

bool AllLayers(
    const StagePlan& stage, absl::Span<const LayerRun> runs,
    absl::FunctionRef<bool(int index, const LayerSpec& layer, OpMask mask)>
        holds) {
  int layer = stage.begin.layer;
  size_t run = 0;
  int run_end = runs.front().count;
  for (const RecomputeRun& masks : stage.recompute) {
    for (int i = 0; i < masks.num_layers; ++i, ++layer) {
      while (layer >= run_end && run + 1 < runs.size()) {
        run_end += runs[++run].count;
      }
      if (!holds(layer, runs[run].layer, masks.mask)) return false;
    }
  }
  return true;
}

void AppendMask(OpMask mask, std::vector<RecomputeRun>& runs) {
  if (runs.empty() || runs.back().mask != mask) {
    runs.push_back({.num_layers = 0, .mask = mask});
  }
  ++runs.back().num_layers;
}

}  // namespace tangram
