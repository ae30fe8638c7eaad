#include "formats/config/hf_family.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// Defaults from huggingface/transformers,
// src/transformers/models/*/configuration_*.py and modeling_*.py.
constexpr HfFamily kFamilies[] = {
    {.model_type = "deepseek_v2",
     .gated_mlp = true,
     .latent_attention = true,
     .experts = ExpertRule::kAfterFirstDense},
    {.model_type = "deepseek_v3",
     .gated_mlp = true,
     .latent_attention = true,
     .experts = ExpertRule::kAfterFirstDense},
    {.model_type = "gemma", .tied_embeddings = true, .gated_mlp = true},
    {.model_type = "glm4_moe",
     .gated_mlp = true,
     .needs_kv_heads = true,
     .experts = ExpertRule::kAfterFirstDense},
    {.model_type = "gpt2",
     .tied_embeddings = true,
     .layer_norm = true,
     .linear_bias = true,
     .learned_positions = true,
     .attention_dropout = 0.1,
     .hidden_dropout = 0.1},
    {.model_type = "gpt_neox", .layer_norm = true, .linear_bias = true},
    {.model_type = "gpt_oss",
     .linear_bias = true,
     .gated_mlp = true,
     .needs_kv_heads = true,
     .experts = ExpertRule::kEveryLayer,
     .sliding_window = SlidingWindowRule::kEveryOther},
    {.model_type = "llama", .gated_mlp = true},
    {.model_type = "mistral",
     .gated_mlp = true,
     .needs_kv_heads = true,
     .sliding_window = SlidingWindowRule::kAllLayers},
    {.model_type = "mixtral",
     .gated_mlp = true,
     .needs_kv_heads = true,
     .experts = ExpertRule::kEveryLayer,
     .sliding_window = SlidingWindowRule::kAllLayers},
    {.model_type = "opt",
     .tied_embeddings = true,
     .layer_norm = true,
     .linear_bias = true,
     .learned_positions = true,
     .extra_positions = 2,
     .hidden_dropout = 0.1},
    {.model_type = "qwen2",
     .qkv_bias = true,
     .gated_mlp = true,
     .needs_kv_heads = true,
     .sliding_window = SlidingWindowRule::kIfEnabled},
    {.model_type = "qwen2_moe",
     .qkv_bias = true,
     .gated_mlp = true,
     .needs_kv_heads = true,
     .experts = ExpertRule::kSparseStep,
     .sliding_window = SlidingWindowRule::kIfEnabled},
    {.model_type = "qwen3",
     .qk_norm = true,
     .gated_mlp = true,
     .needs_kv_heads = true,
     .sliding_window = SlidingWindowRule::kIfEnabled},
    {.model_type = "qwen3_moe",
     .qk_norm = true,
     .gated_mlp = true,
     .needs_kv_heads = true,
     .experts = ExpertRule::kSparseStep,
     .sliding_window = SlidingWindowRule::kIfEnabled},
};

}  // namespace

absl::StatusOr<HfFamily> ReadHfFamily(const ConfigField& root) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           root.Require("model_type", "a model type"));
  TANGRAM_ASSIGN_OR_RETURN(const std::string model_type, field.AsText());
  for (const HfFamily& family : kFamilies) {
    if (family.model_type == model_type) return family;
  }
  const std::string known =
      absl::StrJoin(kFamilies, ", ", [](std::string* out, const HfFamily& f) {
        absl::StrAppend(out, f.model_type);
      });
  return absl::UnimplementedError(
      field.Error(absl::StrCat("one of ", known)).message());
}

}  // namespace tangram
