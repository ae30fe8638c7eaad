#include "common/domain/model_spec.h"

#include <algorithm>

namespace tangram {
namespace {

constexpr OpKind kEmbeddingOps[] = {OpKind::kEmbedding};
constexpr OpKind kDenseOps[] = {OpKind::kAttentionNorm,
                                OpKind::kQkvProjection,
                                OpKind::kAttentionCore,
                                OpKind::kOutputProjection,
                                OpKind::kAttentionResidual,
                                OpKind::kMlpNorm,
                                OpKind::kMlpUp,
                                OpKind::kMlpActivation,
                                OpKind::kMlpDown,
                                OpKind::kMlpResidual};
constexpr OpKind kMoeOps[] = {OpKind::kAttentionNorm,
                              OpKind::kQkvProjection,
                              OpKind::kAttentionCore,
                              OpKind::kOutputProjection,
                              OpKind::kAttentionResidual,
                              OpKind::kMlpNorm,
                              OpKind::kRouter,
                              OpKind::kExpertDispatch,
                              OpKind::kExpertUp,
                              OpKind::kExpertActivation,
                              OpKind::kExpertDown,
                              OpKind::kExpertCombine,
                              OpKind::kMlpResidual};
constexpr OpKind kHeadOps[] = {OpKind::kFinalNorm, OpKind::kHead};

// Weights of a norm, and its biases if it has any.
double NormParameters(const LayerSpec& layer) {
  return layer.hidden_size * (layer.norm_bias ? 2.0 : 1.0);
}

// Parameters of the Q, K and V projections, with H heads of d, H_kv heads of d
// + d_v, and hidden size h:
//   (h + bias) · (H d + H_kv (d + d_v)) + norms of queries and keys.
// For latent attention with ranks r_q, r_kv (DeepSeek-V2), latent norms
// included:
//   r_q (h + H d + 1) + h (r_kv + d_rope) + r_kv (H (d − d_rope + d_v) + 1).
// Without a query latent (r_q = 0), the first term is h H d.
double QkvParameters(const LayerSpec& layer) {
  const double h = layer.hidden_size;
  const double q_out = 1.0 * layer.num_heads * layer.head_dim;
  if (layer.kv_lora_rank > 0) {
    const double nope_dim = layer.head_dim - layer.rope_head_dim;
    const double q =
        layer.q_lora_rank > 0 ? layer.q_lora_rank * (h + q_out + 1) : h * q_out;
    const double kv_up = layer.num_heads * (nope_dim + layer.value_head_dim);
    return q + h * (layer.kv_lora_rank + layer.rope_head_dim) +
           layer.kv_lora_rank * (kv_up + 1);
  }
  const double kv_out =
      1.0 * layer.num_kv_heads * (layer.head_dim + layer.value_head_dim);
  const bool bias = layer.linear_bias || layer.qkv_bias;
  const double qk_norm = layer.qk_norm ? 2.0 * layer.head_dim : 0.0;
  return (h + (bias ? 1 : 0)) * (q_out + kv_out) + qk_norm;
}

double OutputProjectionParameters(const LayerSpec& layer) {
  const double in = 1.0 * layer.num_heads * layer.value_head_dim;
  return (in + (layer.linear_bias ? 1 : 0)) * layer.hidden_size;
}

// Parameters of the MLP's input matrix, or of both if the MLP is gated.
double UpParameters(const LayerSpec& layer, double ffn) {
  const double matrices = layer.gated_mlp ? 2 : 1;
  return matrices * ffn * (layer.hidden_size + (layer.linear_bias ? 1 : 0));
}

// Parameters of the MLP's output matrix.
double DownParameters(const LayerSpec& layer, double ffn) {
  if (ffn == 0) return 0;
  return layer.hidden_size * (ffn + (layer.linear_bias ? 1 : 0));
}

}  // namespace

bool ModelSpec::has_experts() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerSpec& layer) { return layer.is_moe(); });
}

absl::Span<const OpKind> OperatorsOf(const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::kEmbedding:
      return kEmbeddingOps;
    case LayerKind::kTransformer:
      return layer.is_moe() ? absl::Span<const OpKind>(kMoeOps)
                            : absl::Span<const OpKind>(kDenseOps);
    case LayerKind::kHead:
      return kHeadOps;
  }
  return {};
}

const char* OpName(OpKind op) {
  switch (op) {
    case OpKind::kEmbedding:
      return "embedding";
    case OpKind::kAttentionNorm:
      return "attention_norm";
    case OpKind::kQkvProjection:
      return "qkv_projection";
    case OpKind::kAttentionCore:
      return "attention_core";
    case OpKind::kOutputProjection:
      return "output_projection";
    case OpKind::kAttentionResidual:
      return "attention_residual";
    case OpKind::kMlpNorm:
      return "mlp_norm";
    case OpKind::kMlpUp:
      return "mlp_up";
    case OpKind::kMlpActivation:
      return "mlp_activation";
    case OpKind::kMlpDown:
      return "mlp_down";
    case OpKind::kRouter:
      return "router";
    case OpKind::kExpertDispatch:
      return "expert_dispatch";
    case OpKind::kExpertUp:
      return "expert_up";
    case OpKind::kExpertActivation:
      return "expert_activation";
    case OpKind::kExpertDown:
      return "expert_down";
    case OpKind::kExpertCombine:
      return "expert_combine";
    case OpKind::kMlpResidual:
      return "mlp_residual";
    case OpKind::kFinalNorm:
      return "final_norm";
    case OpKind::kHead:
      return "head";
  }
  return "unknown";
}

bool AllowsTp2d(const LayerSpec& layer) {
  return !layer.is_moe() && layer.kv_lora_rank == 0;
}

bool IsResidualCut(const LayerSpec& layer, int index) {
  if (index == 0) return true;
  return layer.kind == LayerKind::kTransformer &&
         OperatorsOf(layer)[index] == OpKind::kMlpNorm;
}

Fingerprint FingerprintOf(const LayerSpec& layer) {
  return Fingerprinter()
      .Add(static_cast<int>(layer.kind))
      .Add(layer.hidden_size)
      .Add(layer.num_heads)
      .Add(layer.num_kv_heads)
      .Add(layer.head_dim)
      .Add(layer.value_head_dim)
      .Add(layer.sliding_window)
      .Add(layer.q_lora_rank)
      .Add(layer.kv_lora_rank)
      .Add(layer.rope_head_dim)
      .Add(layer.ffn_hidden_size)
      .Add(layer.gated_mlp)
      .Add(layer.num_experts)
      .Add(layer.experts_per_token)
      .Add(layer.expert_ffn_hidden_size)
      .Add(layer.shared_expert_ffn_hidden_size)
      .Add(layer.expert_capacity_factor)
      .Add(layer.expert_group_tokens)
      .Add(layer.vocab_size)
      .Add(layer.max_position_embeddings)
      .Add(layer.tied_embeddings)
      .Add(layer.linear_bias)
      .Add(layer.norm_bias)
      .Add(layer.qkv_bias)
      .Add(layer.qk_norm)
      .Finish();
}

bool IsExpertOp(OpKind op) {
  return op == OpKind::kExpertUp || op == OpKind::kExpertDown;
}

double ParameterCount(const LayerSpec& layer, OpKind op) {
  const double h = layer.hidden_size;
  const double shared = layer.shared_expert_ffn_hidden_size;
  switch (op) {
    case OpKind::kEmbedding:
      return h * (1.0 * layer.vocab_size + layer.max_position_embeddings);
    case OpKind::kAttentionNorm:
    case OpKind::kMlpNorm:
    case OpKind::kFinalNorm:
      return NormParameters(layer);
    case OpKind::kQkvProjection:
      return QkvParameters(layer);
    case OpKind::kOutputProjection:
      return OutputProjectionParameters(layer);
    case OpKind::kMlpUp:
      return UpParameters(layer, layer.ffn_hidden_size);
    case OpKind::kMlpDown:
      return DownParameters(layer, layer.ffn_hidden_size);
    case OpKind::kRouter:
      // The shared experts are dense and run beside the router.
      return h * layer.num_experts + UpParameters(layer, shared) +
             DownParameters(layer, shared);
    case OpKind::kExpertUp:
      return layer.num_experts *
             UpParameters(layer, layer.expert_ffn_hidden_size);
    case OpKind::kExpertDown:
      return layer.num_experts *
             DownParameters(layer, layer.expert_ffn_hidden_size);
    case OpKind::kHead:
      return h * layer.vocab_size;
    case OpKind::kAttentionCore:
    case OpKind::kAttentionResidual:
    case OpKind::kMlpActivation:
    case OpKind::kExpertDispatch:
    case OpKind::kExpertActivation:
    case OpKind::kExpertCombine:
    case OpKind::kMlpResidual:
      return 0;
  }
  return 0;
}

double ParameterCount(const LayerSpec& layer) {
  double total = 0;
  for (const OpKind op : OperatorsOf(layer)) {
    if (op == OpKind::kHead && layer.tied_embeddings) continue;
    total += ParameterCount(layer, op);
  }
  return total;
}

double ParameterCount(const ModelSpec& model) {
  double total = 0;
  for (const LayerSpec& layer : model.layers) total += ParameterCount(layer);
  return total;
}

}  // namespace tangram
