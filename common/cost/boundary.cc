#include "common/cost/operator_cost.h"
#include "common/cost/operator_work.h"

namespace tangram {
namespace {

// Returns whether the shared experts' output is live, because it waits to be
// added to the routed tokens.
bool SharedOutputIsLive(const LayerSpec& layer, OpKind op) {
  if (layer.shared_expert_ffn_hidden_size == 0) return false;
  return op == OpKind::kExpertDispatch || op == OpKind::kExpertUp ||
         op == OpKind::kExpertActivation || op == OpKind::kExpertDown ||
         op == OpKind::kExpertCombine;
}

}  // namespace

double BoundaryBytes(const LayerSpec& layer, int op_index,
                     int pipeline_microbatch_size,
                     const TrainingOptions& training) {
  const OpKind op = OperatorsOf(layer)[op_index];
  double elements = InputElements(layer, op);
  // Inside a branch, the residual stream crosses the boundary as well. After
  // the final norm it is no longer needed.
  const bool beside_residual =
      !IsResidualCut(layer, op_index) && layer.kind == LayerKind::kTransformer;
  if (beside_residual) elements += layer.hidden_size;
  if (SharedOutputIsLive(layer, op)) elements += layer.hidden_size;
  return elements * ElementBytes(training.precision) *
         training.sequence_length * pipeline_microbatch_size;
}

}  // namespace tangram
