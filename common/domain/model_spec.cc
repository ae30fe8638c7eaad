#include "common/domain/model_spec.h"

#include <algorithm>
#include <array>

namespace tangram {
namespace {

constexpr OpKind kEmbeddingOps[] = {OpKind::kEmbedding};
constexpr std::array kAttentionOps = {
    OpKind::kAttentionNorm, OpKind::kQkvProjection, OpKind::kAttentionCore,
    OpKind::kOutputProjection, OpKind::kAttentionResidual};
constexpr std::array kMambaOps = {
    OpKind::kMambaNorm,        OpKind::kMambaInProjection,
    OpKind::kMambaConvolution, OpKind::kMambaStepProjection,
    OpKind::kMambaScan,        OpKind::kMambaOutProjection,
    OpKind::kMambaResidual};
constexpr std::array kMamba2Ops = {
    OpKind::kMambaNorm,        OpKind::kMambaInProjection,
    OpKind::kMambaConvolution, OpKind::kMambaScan,
    OpKind::kMambaInnerNorm,   OpKind::kMambaOutProjection,
    OpKind::kMambaResidual};
constexpr std::array kMlpOps = {OpKind::kMlpNorm, OpKind::kMlpUp,
                                OpKind::kMlpActivation, OpKind::kMlpDown,
                                OpKind::kMlpResidual};
constexpr std::array kExpertOps = {
    OpKind::kMlpNorm,       OpKind::kRouter,           OpKind::kExpertDispatch,
    OpKind::kExpertUp,      OpKind::kExpertActivation, OpKind::kExpertDown,
    OpKind::kExpertCombine, OpKind::kMlpResidual};
constexpr OpKind kHeadOps[] = {OpKind::kFinalNorm, OpKind::kHead};

// Returns the operators of a mixer and those of what follows it.
template <size_t A, size_t B>
constexpr std::array<OpKind, A + B> Joined(
    const std::array<OpKind, A>& first, const std::array<OpKind, B>& second) {
  std::array<OpKind, A + B> joined = {};
  for (size_t i = 0; i < A; ++i) joined[i] = first[i];
  for (size_t i = 0; i < B; ++i) joined[A + i] = second[i];
  return joined;
}

// The operators of layers with one mixer, by what follows it.
template <size_t N>
struct OpsAfter {
  std::array<OpKind, N> alone;
  std::array<OpKind, N + kMlpOps.size()> mlp;
  std::array<OpKind, N + kExpertOps.size()> experts;
};
template <size_t N>
constexpr OpsAfter<N> After(const std::array<OpKind, N>& mixer) {
  return {mixer, Joined(mixer, kMlpOps), Joined(mixer, kExpertOps)};
}
constexpr auto kAfterAttention = After(kAttentionOps);
constexpr auto kAfterMamba = After(kMambaOps);
constexpr auto kAfterMamba2 = After(kMamba2Ops);

template <size_t N>
absl::Span<const OpKind> Choose(const OpsAfter<N>& ops,
                                const LayerSpec& layer) {
  if (layer.no_mlp) return ops.alone;
  if (layer.is_moe()) return ops.experts;
  return ops.mlp;
}

absl::Span<const OpKind> TransformerOps(const LayerSpec& layer) {
  switch (layer.mixer) {
    case MixerKind::kAttention:
      return Choose(kAfterAttention, layer);
    case MixerKind::kMamba:
      return Choose(kAfterMamba, layer);
    case MixerKind::kMamba2:
      return Choose(kAfterMamba2, layer);
    case MixerKind::kNone:
      return layer.is_moe() ? absl::Span<const OpKind>(kExpertOps)
                            : absl::Span<const OpKind>(kMlpOps);
  }
  return {};
}

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
// Tokens have `width` elements.
double UpParameters(const LayerSpec& layer, double width, double ffn) {
  const double matrices = layer.gated_mlp ? 2 : 1;
  return matrices * ffn * (width + (layer.linear_bias ? 1 : 0));
}

// Parameters of the MLP's output matrix.
double DownParameters(const LayerSpec& layer, double width, double ffn) {
  if (ffn == 0) return 0;
  return width * (ffn + (layer.linear_bias ? 1 : 0));
}

// Parameters of the operators of a Mamba mixer (mamba_simple.py and mamba2.py
// of state-spaces/mamba). With E channels, a state of N and a kernel of K:
//   convolution: K weights and a bias for each channel that it reads;
//   Mamba: E (r + 2 N) to B, C and time steps of rank r, r E + E from those,
//     and rates A and D, E N + E;
//   Mamba-2: a rate, D and a bias of the time step for each head.
double MambaParameters(const LayerSpec& layer, OpKind op) {
  const MambaDimensions& mamba = layer.mamba;
  const MambaElements elements = ElementsOf(layer.mixer, mamba);
  const double h = layer.hidden_size;
  const double low_rank = elements.time_steps + elements.matrices;
  switch (op) {
    case OpKind::kMambaInProjection:
      return h * elements.projected(layer.mixer);
    case OpKind::kMambaConvolution:
      return elements.convolved(layer.mixer) * (mamba.conv_kernel + 1);
    case OpKind::kMambaStepProjection:
      return elements.channels * (low_rank + mamba.dt_rank + 1) +
             (mamba.inner_norms ? low_rank : 0);
    case OpKind::kMambaScan:
      return layer.mixer == MixerKind::kMamba2
                 ? 3 * elements.time_steps
                 : elements.channels * (mamba.state_size + 1.0);
    case OpKind::kMambaInnerNorm:
      return elements.channels;
    case OpKind::kMambaOutProjection:
      return elements.channels * h;
    default:
      return 0;
  }
}

}  // namespace

bool ModelSpec::is_hybrid() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerSpec& layer) { return !layer.is_plain(); });
}

bool ModelSpec::has_experts() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerSpec& layer) { return layer.is_moe(); });
}

absl::Span<const OpKind> OperatorsOf(const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::kEmbedding:
      return kEmbeddingOps;
    case LayerKind::kTransformer:
      return TransformerOps(layer);
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
    case OpKind::kMambaNorm:
      return "mamba_norm";
    case OpKind::kMambaInProjection:
      return "mamba_in_projection";
    case OpKind::kMambaConvolution:
      return "mamba_convolution";
    case OpKind::kMambaStepProjection:
      return "mamba_step_projection";
    case OpKind::kMambaScan:
      return "mamba_scan";
    case OpKind::kMambaInnerNorm:
      return "mamba_inner_norm";
    case OpKind::kMambaOutProjection:
      return "mamba_out_projection";
    case OpKind::kMambaResidual:
      return "mamba_residual";
  }
  return "unknown";
}

bool AllowsTp2d(const LayerSpec& layer) {
  return !layer.is_moe() && layer.kv_lora_rank == 0 && !layer.is_mamba();
}

bool IsResidualCut(const LayerSpec& layer, int index) {
  if (index == 0) return true;
  return layer.kind == LayerKind::kTransformer &&
         OperatorsOf(layer)[index] == OpKind::kMlpNorm;
}

Fingerprint FingerprintOf(const LayerSpec& layer) {
  Fingerprinter fingerprint;
  fingerprint.Add(static_cast<int>(layer.kind))
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
      .Add(layer.qk_norm);
  // Measurements of plain layers are found by what they always had.
  const MambaDimensions& mamba = layer.mamba;
  if (!layer.is_plain() || mamba != MambaDimensions()) {
    fingerprint.Add(static_cast<int>(layer.mixer))
        .Add(layer.no_mlp)
        .Add(mamba.inner_size)
        .Add(mamba.head_dim)
        .Add(mamba.groups)
        .Add(mamba.state_size)
        .Add(mamba.conv_kernel)
        .Add(mamba.dt_rank)
        .Add(mamba.inner_norms);
  }
  // So are those of layers whose experts are as wide as themselves.
  if (layer.expert_latent_size != 0) fingerprint.Add(layer.expert_latent_size);
  return fingerprint.Finish();
}

bool IsExpertOp(OpKind op) {
  return op == OpKind::kExpertUp || op == OpKind::kExpertDown;
}

double LatentParameters(const LayerSpec& layer, OpKind op) {
  const double h = layer.hidden_size;
  const double l = layer.expert_latent_size;
  if (l == 0) return 0;
  const double bias = layer.linear_bias ? 1 : 0;
  if (op == OpKind::kRouter) return l * (h + bias);
  return op == OpKind::kExpertCombine ? h * (l + bias) : 0;
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
    case OpKind::kMambaNorm:
      return NormParameters(layer);
    case OpKind::kQkvProjection:
      return QkvParameters(layer);
    case OpKind::kOutputProjection:
      return OutputProjectionParameters(layer);
    case OpKind::kMlpUp:
      return UpParameters(layer, h, layer.ffn_hidden_size);
    case OpKind::kMlpDown:
      return DownParameters(layer, h, layer.ffn_hidden_size);
    case OpKind::kRouter:
      // The shared experts are dense and run beside the router.
      return h * layer.num_experts + UpParameters(layer, h, shared) +
             DownParameters(layer, h, shared) + LatentParameters(layer, op);
    case OpKind::kExpertUp:
      return layer.num_experts * UpParameters(layer, layer.expert_width(),
                                              layer.expert_ffn_hidden_size);
    case OpKind::kExpertDown:
      return layer.num_experts * DownParameters(layer, layer.expert_width(),
                                                layer.expert_ffn_hidden_size);
    case OpKind::kExpertCombine:
      return LatentParameters(layer, op);
    case OpKind::kHead:
      return h * layer.vocab_size;
    case OpKind::kMambaInProjection:
    case OpKind::kMambaConvolution:
    case OpKind::kMambaStepProjection:
    case OpKind::kMambaScan:
    case OpKind::kMambaInnerNorm:
    case OpKind::kMambaOutProjection:
      return MambaParameters(layer, op);
    case OpKind::kAttentionCore:
    case OpKind::kAttentionResidual:
    case OpKind::kMlpActivation:
    case OpKind::kExpertDispatch:
    case OpKind::kExpertActivation:
    case OpKind::kMlpResidual:
    case OpKind::kMambaResidual:
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
