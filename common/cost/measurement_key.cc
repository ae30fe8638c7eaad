#include "common/cost/operator_cost.h"

namespace tangram {
namespace {

// Returns whether sequence parallelism changes the operator's share of the
// tokens.
bool FollowsSequenceParallelism(OpKind op) {
  switch (op) {
    case OpKind::kAttentionNorm:
    case OpKind::kAttentionResidual:
    case OpKind::kMlpNorm:
    case OpKind::kMlpResidual:
    case OpKind::kRouter:
    case OpKind::kExpertDispatch:
    case OpKind::kExpertCombine:
    case OpKind::kFinalNorm:
    case OpKind::kMambaNorm:
    case OpKind::kMambaResidual:
      return true;
    default:
      return false;
  }
}

}  // namespace

Fingerprint MeasurementKey(const LayerSpec& layer, OpKind op,
                           const StageParallelism& parallelism,
                           int samples_per_replica,
                           const TrainingOptions& training) {
  const bool expert = IsExpertOp(op) || op == OpKind::kExpertActivation;
  Fingerprinter key;
  key.Add(FingerprintOf(layer))
      .Add(static_cast<int>(op))
      .Add(parallelism.tp_degree)
      .Add(parallelism.cp_degree)
      .Add(expert ? parallelism.ep_degree : 1)
      .Add(FollowsSequenceParallelism(op) && parallelism.sequence_parallel)
      .Add(samples_per_replica)
      .Add(training.sequence_length)
      .Add(static_cast<int>(training.precision))
      .Add(op == OpKind::kAttentionCore && training.flash_attention);
  if (parallelism.tp_y_degree > 1) key.Add(parallelism.tp_y_degree);
  return key.Finish();
}

}  // namespace tangram
