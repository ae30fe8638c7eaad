#include "frameworks/flexpipe_operators.h"

namespace tangram {
namespace {

// Tensors that skip operators of a layer, by the positions of the operators
// that make and use them (runtime/megatron/model/flex_ops.py): the residuals
// around attention and MLP, and the values beside the scores.
constexpr struct {
  int made;
  int used;
} kSkippingTensors[] = {{0, 7}, {1, 5}, {8, 12}};

}  // namespace

int FlexPipeOps(OpKind op) { return op == OpKind::kAttentionCore ? 4 : 1; }

std::vector<OperatorCut> FlexPipeOrder(const ModelSpec& model) {
  std::vector<OperatorCut> order;
  for (int l = 0; l < model.num_layers(); ++l) {
    const absl::Span<const OpKind> ops = OperatorsOf(model.layers[l]);
    for (int o = 0; o < static_cast<int>(ops.size()); ++o) {
      order.insert(order.end(), FlexPipeOps(ops[o]), {l, o});
    }
  }
  return order;
}

int FlexPipeIndex(const ModelSpec& model, OperatorCut cut) {
  int index = 0;
  for (int l = 0; l <= cut.layer && l < model.num_layers(); ++l) {
    const absl::Span<const OpKind> ops = OperatorsOf(model.layers[l]);
    const int end = l < cut.layer ? static_cast<int>(ops.size()) : cut.op;
    for (int o = 0; o < end; ++o) index += FlexPipeOps(ops[o]);
  }
  return index;
}

bool LiesUnderSkippingTensor(const ModelSpec& model, int begin, int end) {
  const std::vector<OperatorCut> order = FlexPipeOrder(model);
  if (begin >= end || order[begin].layer != order[end - 1].layer) return false;
  const int layer = order[begin].layer;
  if (model.layers[layer].kind != LayerKind::kTransformer) return false;
  const int first = FlexPipeIndex(model, {layer, 0});
  for (const auto& [made, used] : kSkippingTensors) {
    if (begin > first + made && end <= first + used) return true;
  }
  return false;
}

}  // namespace tangram
