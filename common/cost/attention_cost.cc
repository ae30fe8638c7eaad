#include <algorithm>

#include "common/cost/operator_work.h"

namespace tangram {
namespace {

// Returns the bytes of one key and value of every head on this GPU, for one
// token.
double KeyValueBytes(const LayerScope& scope) {
  const double query =
      1.0 * scope.layer.num_heads * scope.layer.head_dim / scope.tp;
  return scope.element_bytes *
         (InputElementsOnGpu(scope, OpKind::kAttentionCore) - query);
}

// Adds ring attention (2310.01889). The keys and values of every rank pass by
// all others while each rank computes the scores of those at hand. In the
// backward pass their gradients travel along.
void AddRingComm(const LayerScope& scope, OperatorWork& work) {
  if (scope.parallelism.cp_degree == 1) return;
  const double ring_bytes =
      KeyValueBytes(scope) * scope.tokens * scope.parallelism.cp_degree;
  work.forward_hidden_s =
      AllGatherSeconds(ring_bytes, scope.cp_group, scope.environment.wiring);
  work.backward_hidden_s = 2 * work.forward_hidden_s;
}

// FlashAttention-2 (2307.08691 §3.1). Causal blocks above the diagonal are
// skipped. The backward pass recomputes the scores (5 products instead of 2).
// Only Q, K, V and one fp32 log-sum for each row are kept.
OperatorWork FlashWork(const LayerScope& scope, double heads, double context) {
  const LayerSpec& layer = scope.layer;
  const double s = scope.environment.training.sequence_length;
  // Mean number of keys that a query sees; s/2 without a window.
  const double seen = context - context * context / (2 * s);
  const double flops = 2 * scope.tokens * seen * heads *
                       (1.0 * layer.head_dim + layer.value_head_dim);
  const double elements = InputElementsOnGpu(scope, OpKind::kAttentionCore) +
                          heads * layer.value_head_dim;
  const double bytes = scope.element_bytes * elements * scope.tokens;
  constexpr double kLogSumBytes = 4;  // fp32, of each head and token.
  return {.forward_compute_s = AttentionSeconds(flops, bytes, scope.rates),
          .backward_compute_s =
              AttentionSeconds(2.5 * flops, 2 * bytes, scope.rates),
          .keeps_input = true,
          .kept_bytes = kLogSumBytes * heads * scope.tokens};
}

// Megatron-LM's fused softmax writes its gradient in place, for at most this
// many tokens. Beyond that, the gradients before and after it are live at once.
constexpr double kLongestFusedSoftmax = 2048;

// Unfused attention in separate kernels (2205.05198 §4.1): scores QKᵀ, softmax,
// dropout, product with V. With E bytes for an element and a one-byte mask,
// softmax moves 2E bytes for each score and dropout 2E + 1; backward, these are
// 3E and 2E + 1. Each score keeps the outputs of softmax and dropout and the
// mask.
OperatorWork UnfusedWork(const LayerScope& scope, double heads,
                         double context) {
  const LayerSpec& layer = scope.layer;
  const double e = scope.element_bytes;
  const double scores = heads * scope.tokens * context;
  const double score_bytes = e * scores;
  const KernelRates& rates = scope.rates;
  const auto product_s = [&](double head_dim) {
    return BatchedHeadSeconds(2 * scores * head_dim, score_bytes, head_dim,
                              rates);
  };
  const double products_s =
      product_s(layer.head_dim) + product_s(layer.value_head_dim);
  const bool dropout = scope.environment.training.dropout;
  const double dropout_bytes = dropout ? (2 * e + 1) * scores : 0;
  return {
      .forward_compute_s = products_s + PassSeconds(2 * score_bytes, rates) +
                           PassSeconds(dropout_bytes, rates),
      .backward_compute_s = 2 * products_s +
                            PassSeconds(3 * score_bytes, rates) +
                            PassSeconds(dropout_bytes, rates),
      .keeps_input = true,
      .kept_bytes = dropout ? (2 * e + 1) * scores : score_bytes,
      .workspace_bytes = context > kLongestFusedSoftmax ? 2 * score_bytes : 0};
}

}  // namespace

// A sliding window limits the keys that a query sees.
OperatorWork AttentionCoreWork(const LayerScope& scope) {
  const TrainingOptions& training = scope.environment.training;
  const LayerSpec& layer = scope.layer;
  const int window =
      layer.sliding_window > 0
          ? std::min(layer.sliding_window, training.sequence_length)
          : training.sequence_length;
  const double heads = layer.num_heads / scope.tp;
  const bool flash = RunsFlashAttention(scope.environment);
  OperatorWork work = flash ? FlashWork(scope, heads, window)
                            : UnfusedWork(scope, heads, window);
  AddRingComm(scope, work);
  return work;
}

OperatorWork QkvWork(const LayerScope& scope) {
  const LayerSpec& layer = scope.layer;
  const double tokens = scope.tokens;
  const QkvShape shape = QkvShapeOf(scope);
  // Latent attention is two consecutive products. One product of the same FLOPs
  // costs the same except for a launch.
  const double in = layer.hidden_size / scope.tp_y;
  const double out = shape.on_gpu / in;
  OperatorWork work = MatmulWork(GemmSeconds({.m = tokens, .k = in, .n = out},
                                             scope.element_bytes, scope.rates));
  AddCasts(scope, tokens * in, tokens * out, work);
  work.keeps_input = true;
  work.parameters = ParameterCount(layer, OpKind::kQkvProjection) *
                    shape.on_gpu / shape.total;
  // Latent vectors are kept before and after their norm.
  work.kept_bytes = 2 * scope.element_bytes * tokens *
                    (layer.q_lora_rank + layer.kv_lora_rank) /
                    scope.residual_tp;
  if (layer.qk_norm) {
    const double bytes = scope.element_bytes * tokens *
                         InputElementsOnGpu(scope, OpKind::kAttentionCore);
    work.forward_compute_s += PassSeconds(2 * bytes, scope.rates);
    work.backward_compute_s += PassSeconds(3 * bytes, scope.rates);
    work.kept_bytes += bytes;
  }
  AddFirstProductComm(scope, out, work);
  return work;
}

}  // namespace tangram
