#ifndef TANGRAM_COMMON_DOMAIN_MODEL_SPEC_H_
#define TANGRAM_COMMON_DOMAIN_MODEL_SPEC_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/fingerprint.h"
#include "common/domain/mixer.h"

namespace tangram {

enum class LayerKind {
  kEmbedding,    // Token (and learned position) embedding.
  kTransformer,  // A mixer of tokens (attention, Mamba) and an MLP or experts;
                 // or one of both alone.
  kHead,         // Final norm, vocabulary projection and loss.
};

// The operators of a layer, in execution order. A pipeline stage may begin and
// end between any two of them, and each may be recomputed.
enum class OpKind {
  kEmbedding,
  kAttentionNorm,
  kQkvProjection,
  kAttentionCore,  // Scores, softmax, dropout, context; or flash attention.
  kOutputProjection,
  kAttentionResidual,  // Dropout and residual addition.
  kMlpNorm,
  kMlpUp,
  kMlpActivation,
  kMlpDown,
  kRouter,
  kExpertDispatch,  // All-to-all.
  kExpertUp,
  kExpertActivation,
  kExpertDown,
  kExpertCombine,  // All-to-all.
  kMlpResidual,
  kFinalNorm,
  kHead,
  // In the place of attention. The numbers of the kinds above are kept, as
  // measurements are found by them.
  kMambaNorm,
  kMambaInProjection,
  kMambaConvolution,
  kMambaStepProjection,  // Mamba: to B, C and the time steps.
  kMambaScan,
  kMambaInnerNorm,  // Mamba-2: of the scan's output.
  kMambaOutProjection,
  kMambaResidual,
};

// One layer, with all dimensions that costs depend on. Layers are compared by
// value: equal layers have equal costs. Redundancy pruning depends on it.
struct LayerSpec {
  LayerKind kind = LayerKind::kTransformer;
  int hidden_size = 0;
  MixerKind mixer = MixerKind::kAttention;
  bool no_mlp = false;  // Neither MLP nor experts: a mixer alone.

  // Attention; 0 with another mixer.
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;  // Queries and keys.
  int value_head_dim = 0;
  int sliding_window = 0;  // Tokens; 0: full causal attention.
  // Multi-head latent attention (DeepSeek-V2/V3); 0: not used.
  int q_lora_rank = 0;
  int kv_lora_rank = 0;
  int rope_head_dim = 0;

  MambaDimensions mamba;

  // MLP. `ffn_hidden_size` is 0 in a mixture-of-experts layer.
  int ffn_hidden_size = 0;
  bool gated_mlp = false;  // SwiGLU: three matrices instead of two.

  // Mixture of experts; num_experts is 0 in a dense layer.
  int num_experts = 0;
  int experts_per_token = 0;
  int expert_ffn_hidden_size = 0;
  int shared_expert_ffn_hidden_size = 0;
  // Width of the tokens that routed experts read and write (LatentMoE, Nemotron
  // 3): a projection takes tokens there before they are sent, another the sum
  // of what experts made of them back. Router and shared experts are as wide as
  // the layer. 0: so are all experts, without projections.
  int expert_latent_size = 0;
  // Every expert computes this many times its mean number of tokens: its empty
  // slots too, and no more (GShard, 2006.16668). At least 1; 0: dropless, each
  // expert computes the tokens routed to it.
  double expert_capacity_factor = 0;
  // Tokens that are brought to experts and back together, by products with
  // one-hot matrices, as GShard does. 0: tokens are sorted by expert. Needs a
  // capacity factor.
  int expert_group_tokens = 0;

  // Embedding and head.
  int vocab_size = 0;
  int max_position_embeddings = 0;  // Learned positions; 0: rotary or none.
  bool tied_embeddings = false;     // The head uses the embedding's weights.

  bool linear_bias = false;
  bool norm_bias = false;
  bool qkv_bias = false;  // Bias on Q, K, V alone (Qwen2).
  bool qk_norm = false;   // Norms on queries and keys (Qwen3).

  bool is_moe() const { return num_experts > 0; }
  // Elements of a token that a routed expert reads and writes.
  int expert_width() const {
    return expert_latent_size > 0 ? expert_latent_size : hidden_size;
  }
  bool is_mamba() const { return IsMamba(mixer); }
  // Whether the layer is attention with an MLP or experts after it, as in a
  // plain transformer, or an embedding or head.
  bool is_plain() const { return mixer == MixerKind::kAttention && !no_mlp; }
  bool operator==(const LayerSpec&) const = default;
};

// Consecutive equal layers.
struct LayerRun {
  LayerSpec layer;
  int count = 0;
  bool operator==(const LayerRun&) const = default;
};

// How rotary positions are stretched beyond the lengths of the first training.
struct RopeScaling {
  std::string type;  // As config.json calls it: "llama3". Empty: none.
  double factor = 0;
  double low_freq_factor = 0;  // Llama 3.
  double high_freq_factor = 0;
  int original_positions = 0;  // Tokens of the first training; 0: not given.
  bool operator==(const RopeScaling&) const = default;
};

// The part of a model's configuration on which no cost depends. Exports hand it
// to frameworks. 0 or empty: not given.
struct ModelDetails {
  double rope_theta = 0;     // Base of the rotary frequencies.
  double rope_fraction = 0;  // Share of a head with rotary positions.
  RopeScaling rope_scaling;
  double norm_epsilon = 0;
  std::optional<double> attention_dropout;
  std::optional<double> hidden_dropout;  // Embedding and residual additions.
  std::string dtype;                     // Type of the weights: "bfloat16".
  double attention_softcap = 0;          // Scores are capped: c tanh(x / c).
  double logit_softcap = 0;              // Logits of the vocabulary likewise.
  bool no_positions = false;  // Attention knows no positions (Nemotron-H).
  // Parts that the model has and its layers here lack: "attention sinks".
  std::vector<std::string> unplanned;

  // Whether the model is trained with dropout, as far as is known.
  bool has_dropout() const {
    return attention_dropout.value_or(1) > 0 || hidden_dropout.value_or(1) > 0;
  }
  bool operator==(const ModelDetails&) const = default;
};

// A model: its layers in execution order, one embedding, transformer layers,
// one head.
struct ModelSpec {
  std::string name;
  std::vector<LayerSpec> layers;
  ModelDetails details;

  int num_layers() const { return static_cast<int>(layers.size()); }
  // Whether any layer is a mixture of experts.
  bool has_experts() const;
  // Whether any layer differs from attention with an MLP or experts after it.
  bool is_hybrid() const;
};

// The operators of `layer`, in execution order. The span is static.
absl::Span<const OpKind> OperatorsOf(const LayerSpec& layer);

// "qkv_projection"; as used in plan files.
const char* OpName(OpKind op);

// Returns whether only the residual stream crosses the boundary before operator
// `index` of `layer`: at its start, and between mixer and MLP.
bool IsResidualCut(const LayerSpec& layer, int index);

// Returns whether 2-D tensor parallelism can split the layer: its weights
// belong to pairs of consecutive dense products, without experts, latent
// attention or Mamba.
bool AllowsTp2d(const LayerSpec& layer);

Fingerprint FingerprintOf(const LayerSpec& layer);

// Returns the trainable parameters of one operator of `layer`, unsharded. A
// tied head counts its matrix too: a pipeline stage without the embedding
// stores a copy.
double ParameterCount(const LayerSpec& layer, OpKind op);

// Returns those of the projection of tokens to the width of the experts, which
// runs beside the router, or of the one back, after the tokens are combined.
double LatentParameters(const LayerSpec& layer, OpKind op);

// Returns whether the operator's parameters belong to experts, so that expert
// parallelism shards them.
bool IsExpertOp(OpKind op);

// Returns the trainable parameters of one layer or of the whole model. They
// count a tied head's matrix once, in the embedding.
double ParameterCount(const LayerSpec& layer);
double ParameterCount(const ModelSpec& model);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_MODEL_SPEC_H_
