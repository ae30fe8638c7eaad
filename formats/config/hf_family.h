#ifndef TANGRAM_FORMATS_CONFIG_HF_FAMILY_H_
#define TANGRAM_FORMATS_CONFIG_HF_FAMILY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/config/config_field.h"

namespace tangram {

// How the experts of a family are described. The file's own fields decide;
// this says which must be there and what their absence means.
enum class ExpertRule {
  kNone,             // Experts only if the file counts any.
  kEveryLayer,       // All; intermediate_size is the experts' (Mixtral).
  kSparseStep,       // decoder_sparse_step, mlp_only_layers (Qwen).
  kAfterFirstDense,  // first_k_dense_replace, moe_layer_freq (DeepSeek).
};

// The layers with a sliding window, if sliding_window is given without
// layer_types.
enum class SlidingWindowRule {
  kNever,      // No layer; sliding_window is ignored.
  kAllLayers,  // All layers.
  kPeriod,     // All but every window_period-th.
  kIfEnabled,  // With use_sliding_window: layers from max_window_layers on.
};

// How a file tells which layers mix tokens by Mamba, and which have no MLP.
enum class HybridRule {
  kNone,
  kPeriods,    // attn_layer_period, attn_layer_offset (Jamba).
  kIndices,    // attn_layer_indices (Bamba).
  kTypes,      // layer_types, or layers_block_type (Granite 4).
  kPattern,    // hybrid_override_pattern, or layers_block_type: a mixer, an MLP
               // or experts in a layer (Nemotron-H).
  kAllLayers,  // All, without MLP (Mamba).
};

// Norms on queries and keys.
enum class QkNorm {
  kNone,
  kHead,        // One weight for each feature of a head, shared by all heads.
  kWidth,       // One weight for each feature of all heads.
  kWeightless,  // No weights.
};

// Sizes that a file may leave out, as saved files omit the defaults of their
// class. 0: must be given.
struct HfSizes {
  int layers = 0;
  int hidden_size = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int ffn_hidden_size = 0;
  int vocab_size = 0;
};

// Properties of a model_type that its config.json leaves out. A flag that has
// a field in the file is the value without that field.
struct HfFamily {
  absl::string_view model_type;

  // Vocabulary.
  bool tied_embeddings = false;
  bool learned_positions = false;  // A table of position embeddings.
  int extra_positions = 0;  // Rows of the table beyond the last position.
  bool head_bias = false;   // The vocabulary projection has a bias.

  // Norms.
  bool layer_norm = false;         // Norms with bias; otherwise RMS norms.
  int extra_norms = 0;             // Norms of a layer less two.
  bool weightless_norms = false;   // Norms have no parameters (OLMo).
  bool embedding_norm = false;     // A norm after the embedding (BLOOM).
  bool one_norm_parallel = false;  // One norm where MLP and attention are
                                   // parallel: parallel_attn,
                                   // use_parallel_residual.
  QkNorm qk_norm = QkNorm::kNone;

  // Linear layers.
  bool gated_mlp = false;       // Three matrices in the MLP instead of two.
  bool half_ffn = false;        // intermediate_size counts two matrices.
  bool linear_bias = false;     // All linear layers have a bias.
  bool qkv_bias = false;        // Only the Q, K, V projections do.
  bool bias_on_output = false;  // The output projection does where these do.
  bool output_bias = false;     // The output projection alone does.
  bool mlp_bias = false;        // The MLP does.
  bool bias_is_linear = false;  // The field `bias` is linear_bias; otherwise
                                // it is of Q, K, V and the output.

  // Attention.
  bool needs_kv_heads = false;    // num_key_value_heads must be given.
  bool multi_query = false;       // One head of keys and values.
  bool latent_attention = false;  // Multi-head latent attention (DeepSeek).
  bool sinks = false;             // A learned sink for each head.
  bool output_gate = false;       // A gate as wide as the attention's output.
  SlidingWindowRule sliding_window = SlidingWindowRule::kNever;
  int window_period = 0;

  // Experts.
  ExpertRule experts = ExpertRule::kNone;
  int first_dense = -1;             // first_k_dense_replace; -1: must be given.
  bool router_bias = false;         // The router's product has a bias.
  bool routing_bias = false;        // A bias for the choice of experts alone.
  bool shared_gate = false;         // A gate for the shared expert (Qwen).
  bool shared_like_routed = false;  // One shared expert as wide as a routed
                                    // one (Llama 4).
  bool dense_beside_experts = false;  // The dense MLP runs beside the experts
                                      // (Gemma 4).
  bool latent_experts = false;  // moe_latent_size may be the width of routed
                                // experts (Nemotron 3).

  // Layers with Mamba.
  HybridRule hybrid = HybridRule::kNone;
  bool mamba2 = false;              // The second version.
  int mamba_state_size = 16;        // States of a channel.
  bool mamba_by_heads = false;      // Heads tell the channels, not expand.
  bool needs_mamba_groups = false;  // n_groups must be given.
  bool mamba_inner_norms = false;   // Norms on time steps, B and C.
  bool no_positions = false;        // Attention knows no positions.
  double rope_fraction = 0;         // Share of a head with rotary positions.

  double attention_dropout = 0;
  double hidden_dropout = 0;  // Many models have no place for it.
  HfSizes sizes;
};

// Another model_type of the same structure.
struct HfAlias {
  absl::string_view model_type;
  absl::string_view family;
};

// The known families. A new model_type is a line in one of these tables.
absl::Span<const HfFamily> HfFamilies();
absl::Span<const HfAlias> HfAliases();

// A family and how it was found.
struct HfFoundFamily {
  HfFamily family;
  std::string note;  // Empty unless the fields alone decided.
};

// Returns the family of the file's model_type; else that of its architectures;
// else that of Llama or its mixtures, if all its fields are known ones and say
// so. `file` is the whole file, `text` its part about the language model. The
// flags for which the file has fields are set by them. kUnimplemented, with the
// nearest family and what to do, for any other.
absl::StatusOr<HfFoundFamily> ReadHfFamily(const ConfigField& text,
                                           const ConfigField& file);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_FAMILY_H_
