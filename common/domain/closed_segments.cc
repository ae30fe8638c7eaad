#include "common/domain/closed_segments.h"

#include "absl/types/span.h"

namespace tangram {

namespace {

// Returns whether what the operator makes is used by others than the next one.
bool IsUsedFurther(OpKind op) {
  switch (op) {
    case OpKind::kQkvProjection:
    case OpKind::kMambaInProjection:
    case OpKind::kMambaConvolution:
    case OpKind::kMambaStepProjection:
      return true;
    default:
      return false;
  }
}

}  // namespace

// The first operator after a residual cut makes the residual, and the last one
// before the next cut uses it. The projection of queries, keys and values is
// followed by the attention core, which uses them all. The scan of a Mamba
// mixer uses outputs of the first projection and of the convolution.
OpMask CloseSegments(const LayerSpec& layer, OpMask mask) {
  if (layer.kind != LayerKind::kTransformer) return mask;
  const absl::Span<const OpKind> ops = OperatorsOf(layer);
  const int num_ops = static_cast<int>(ops.size());
  bool in_residual = false;
  for (int op = 0; op < num_ops; ++op) {
    const OpMask bit = OpMask{1} << op;
    if (IsResidualCut(layer, op)) in_residual = (mask & bit) != 0;
    if (in_residual) mask |= bit;
    if (IsUsedFurther(ops[op]) && (mask & bit) != 0) {
      mask |= bit << 1;
    }
  }
  return mask;
}

}  // namespace tangram
