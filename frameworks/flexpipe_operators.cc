#include "frameworks/flexpipe_operators.h"

namespace tangram {
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

}  // namespace tangram
