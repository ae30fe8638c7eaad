#ifndef TANGRAM_FORMATS_CONFIG_HF_FAMILY_H_
#define TANGRAM_FORMATS_CONFIG_HF_FAMILY_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/config/config_field.h"

namespace tangram {

// Which layers have experts.
enum class ExpertRule {
  kNone,
  kEveryLayer,       // intermediate_size is the experts' (Mixtral).
  kSparseStep,       // decoder_sparse_step, mlp_only_layers (Qwen).
  kAfterFirstDense,  // first_k_dense_replace, moe_layer_freq (DeepSeek).
};

// Which layers see a sliding window, given sliding_window without layer_types.
enum class SlidingWindowRule {
  kNever,
  kAllLayers,
  kEveryOther,  // From the first on.
  kIfEnabled,   // use_sliding_window, from max_window_layers on.
};

// What a model_type says that its config.json does not.
struct HfFamily {
  absl::string_view model_type;
  bool tied_embeddings = false;  // Unless tie_word_embeddings is given.
  bool layer_norm = false;       // Norms with bias; otherwise RMS norms.
  bool linear_bias = false;
  bool qkv_bias = false;
  bool qk_norm = false;
  bool gated_mlp = false;
  bool learned_positions = false;
  int extra_positions = 0;      // Rows of the table beyond the last position.
  bool needs_kv_heads = false;  // Has no useful default for them.
  bool latent_attention = false;
  ExpertRule experts = ExpertRule::kNone;
  SlidingWindowRule sliding_window = SlidingWindowRule::kNever;
};

// The family of the file's model_type. kUnimplemented listing the known ones.
absl::StatusOr<HfFamily> ReadHfFamily(const ConfigField& root);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_FAMILY_H_
