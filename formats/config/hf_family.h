#ifndef TANGRAM_FORMATS_CONFIG_HF_FAMILY_H_
#define TANGRAM_FORMATS_CONFIG_HF_FAMILY_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/config/config_field.h"

namespace tangram {

// The layers that have experts.
enum class ExpertRule {
  kNone,             // No layer.
  kEveryLayer,       // All; intermediate_size is the experts' (Mixtral).
  kSparseStep,       // decoder_sparse_step, mlp_only_layers (Qwen).
  kAfterFirstDense,  // first_k_dense_replace, moe_layer_freq (DeepSeek).
};

// The layers with a sliding window, if sliding_window is given without
// layer_types.
enum class SlidingWindowRule {
  kNever,       // No layer; sliding_window is ignored.
  kAllLayers,   // All layers.
  kEveryOther,  // Every other layer, beginning with the first.
  kIfEnabled,   // With use_sliding_window: layers from max_window_layers on.
};

// Properties of a model_type that its config.json leaves out.
struct HfFamily {
  absl::string_view model_type;
  bool tied_embeddings = false;    // Unless tie_word_embeddings is given.
  bool layer_norm = false;         // Norms with bias; otherwise RMS norms.
  bool linear_bias = false;        // All linear layers have a bias.
  bool qkv_bias = false;           // Only the query, key, value projections do.
  bool qk_norm = false;            // Queries and keys are normalised.
  bool gated_mlp = false;          // Three matrices in the MLP instead of two.
  bool learned_positions = false;  // A table of position embeddings.
  int extra_positions = 0;        // Rows of the table beyond the last position.
  bool needs_kv_heads = false;    // num_key_value_heads must be given.
  bool latent_attention = false;  // Multi-head latent attention (DeepSeek).
  double attention_dropout = 0;
  double hidden_dropout = 0;  // Many models have no place for it.
  ExpertRule experts = ExpertRule::kNone;
  SlidingWindowRule sliding_window = SlidingWindowRule::kNever;
};

// Returns the family of the file's model_type. kUnimplemented, listing the
// known types, for any other.
absl::StatusOr<HfFamily> ReadHfFamily(const ConfigField& root);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_FAMILY_H_
