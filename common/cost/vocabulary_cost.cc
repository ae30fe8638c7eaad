#include "common/cost/operator_work.h"

namespace tangram {
namespace {

constexpr double kFloatBytes = 4;  // sizeof(float).

// Bytes that the loss moves for each logit, in each pass.
struct LossBytes {
  double forward = 0;
  double backward = 0;
};

// Megatron-LM's loss casts the logits to fp32, finds the maximum, subtracts it,
// takes exponentials and divides, with a few of these fused; backward it scales
// the softmax and casts it back. A fused loss reads the logits for their sum
// and once more for their gradient.
LossBytes LossBytesOf(double element_bytes, bool fused) {
  if (fused) return {3 * element_bytes, 3 * element_bytes};
  return {element_bytes + 4 * kFloatBytes, element_bytes + 3 * kFloatBytes};
}

}  // namespace

// Rows are looked up, summed over the ranks that share the vocabulary, and
// dropped out. The backward pass adds them into the table's gradient.
OperatorWork EmbeddingWork(const LayerScope& scope) {
  const LayerSpec& layer = scope.layer;
  const double h = layer.hidden_size;
  const double bytes = scope.element_bytes * scope.tokens * h;
  const double mask_bytes =
      scope.environment.training.dropout ? scope.tokens * h : 0;
  OperatorWork work = {
      .forward_compute_s = PassSeconds(2 * bytes + mask_bytes, scope.rates),
      .backward_compute_s = PassSeconds(3 * bytes + mask_bytes, scope.rates),
      .parameters =
          h * layer.vocab_size / scope.tp + h * layer.max_position_embeddings,
      .kept_bytes = mask_bytes / scope.residual_tp};
  AddRowParallelComm(scope, work);
  return work;
}

// Vocabulary projection and cross entropy in fp32 (2205.05198 §4.3). Softmax is
// kept in fp32; the 16-bit logits live only until it is made. A fused loss
// keeps the logits, and its backward pass needs room for their gradient. For
// each token, ranks that share the vocabulary exchange a maximum, a sum and the
// target's logit.
OperatorWork HeadWork(const LayerScope& scope) {
  const LayerSpec& layer = scope.layer;
  const double e = scope.element_bytes;
  const double logits = scope.tokens * layer.vocab_size / scope.tp;
  OperatorWork work = MatmulWork(GemmSeconds({.m = scope.tokens,
                                              .k = 1.0 * layer.hidden_size,
                                              .n = layer.vocab_size / scope.tp},
                                             e, scope.rates));
  const LossBytes loss = LossBytesOf(e, scope.environment.training.fused_loss);
  work.forward_compute_s += PassSeconds(loss.forward * logits, scope.rates);
  work.backward_compute_s += PassSeconds(loss.backward * logits, scope.rates);
  work.parameters = ParameterCount(layer, OpKind::kHead) / scope.tp;
  if (layer.tied_embeddings) work.copied_parameters = work.parameters;
  work.keeps_input = true;
  work.kept_bytes =
      (scope.environment.training.fused_loss ? e : kFloatBytes) * logits;
  work.workspace_bytes = e * logits;
  AddColumnParallelComm(scope, work);
  work.forward_comm_s += AllReduceSeconds(
      3 * kFloatBytes * scope.tokens, scope.tp_group, scope.environment.wiring);
  return work;
}

}  // namespace tangram
