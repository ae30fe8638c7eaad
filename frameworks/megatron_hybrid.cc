#include "frameworks/megatron_hybrid.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "frameworks/lower_plan.h"
#include "frameworks/refusal.h"

namespace tangram {
namespace {

// Kernel of the convolution in MambaMixer, which no option changes.
constexpr int kConvKernel = 4;

// Returns the layer without its MLP or experts, or with nothing else.
LayerSpec MixerOf(const LayerSpec& layer) {
  LayerSpec part = layer;
  part.no_mlp = true;
  part.ffn_hidden_size = 0;
  part.num_experts = part.experts_per_token = 0;
  part.expert_ffn_hidden_size = part.shared_expert_ffn_hidden_size = 0;
  part.expert_latent_size = 0;
  part.expert_capacity_factor = part.expert_group_tokens = 0;
  return part;
}
LayerSpec MlpOf(const LayerSpec& layer) {
  LayerSpec part = layer;
  const LayerSpec none;
  part.mixer = MixerKind::kNone;
  part.mamba = {};
  for (int LayerSpec::*const member :
       {&LayerSpec::num_heads, &LayerSpec::num_kv_heads, &LayerSpec::head_dim,
        &LayerSpec::value_head_dim, &LayerSpec::sliding_window,
        &LayerSpec::q_lora_rank, &LayerSpec::kv_lora_rank,
        &LayerSpec::rope_head_dim}) {
    part.*member = none.*member;
  }
  part.qkv_bias = part.qk_norm = false;
  return part;
}

absl::Status CheckMamba(const LayerSpec& layer, absl::string_view field) {
  if (layer.mixer == MixerKind::kMamba) {
    return Refuse(field, "a Mamba mixer of the first version",
                  "Mamba-2, which is what Megatron-LM has");
  }
  if (layer.is_mamba() && layer.mamba.conv_kernel != kConvKernel) {
    return Refuse(absl::StrCat(field, ".mamba.conv_kernel"),
                  layer.mamba.conv_kernel,
                  absl::StrCat(kConvKernel, ", as in Megatron-LM"));
  }
  return absl::OkStatus();
}

// The letter * builds plain attention: no norms of queries and keys, no latent
// attention, no windows, which are counted by letters.
absl::Status CheckAttention(const LayerSpec& layer, absl::string_view field) {
  const auto refuse = [&](absl::string_view what) {
    return Refuse(field, what,
                  "plain attention, which is what Megatron-LM's hybrids have");
  };
  if (layer.mixer != MixerKind::kAttention) return absl::OkStatus();
  if (layer.kv_lora_rank > 0) return refuse("latent attention");
  if (layer.qk_norm) return refuse("norms of queries and keys");
  if (layer.sliding_window > 0) return refuse("a sliding window");
  return absl::OkStatus();
}

// The first part of each letter.
class FirstParts {
 public:
  absl::Status Add(const LayerSpec& part, char letter,
                   absl::string_view field) {
    std::optional<LayerSpec>& first = letter == 'M'   ? mamba_
                                      : letter == '*' ? attention_
                                      : letter == '-' ? mlp_
                                                      : experts_;
    if (!first.has_value()) first = part;
    if (part == *first) return absl::OkStatus();
    return Refuse(field, "other dimensions than the layers before",
                  absl::StrCat("one kind of layer for the letter ",
                               std::string(1, letter)));
  }

 private:
  std::optional<LayerSpec> mamba_;
  std::optional<LayerSpec> attention_;
  std::optional<LayerSpec> mlp_;
  std::optional<LayerSpec> experts_;
};

}  // namespace

std::string HybridLetters(const LayerSpec& layer) {
  std::string letters;
  if (layer.is_mamba()) letters += 'M';
  if (layer.mixer == MixerKind::kAttention) letters += '*';
  if (!layer.no_mlp) letters += layer.is_moe() ? 'E' : '-';
  return letters;
}

std::string HybridPattern(const ModelSpec& model, const PipelinePlan& plan) {
  std::string pattern;
  for (const PlacedStage& stage : plan.stages) {
    if (&stage != &plan.stages.front()) pattern += '|';
    const LayerSpan span = TransformerLayers(model, stage.plan);
    for (int l = span.first; l < span.last; ++l) {
      pattern += HybridLetters(model.layers[l]);
    }
  }
  return pattern;
}

int HybridLayersEach(const ModelSpec& model) {
  return static_cast<int>(HybridLetters(model.layers[1]).size());
}

absl::Status CheckHybridModel(const ModelSpec& model) {
  FirstParts first;
  for (int l = 1; l + 1 < model.num_layers(); ++l) {
    const LayerSpec& layer = model.layers[l];
    const std::string field = absl::StrCat("model.layers[", l, "]");
    TANGRAM_RETURN_IF_ERROR(CheckMamba(layer, field));
    TANGRAM_RETURN_IF_ERROR(CheckAttention(layer, field));
    for (const char letter : HybridLetters(layer)) {
      const bool mixer = letter == 'M' || letter == '*';
      TANGRAM_RETURN_IF_ERROR(
          first.Add(mixer ? MixerOf(layer) : MlpOf(layer), letter, field));
    }
    // Options count the layers to recompute.
    const int letters = static_cast<int>(HybridLetters(layer).size());
    if (letters != HybridLayersEach(model)) {
      return Refuse(
          field, absl::StrCat(letters, " of Megatron-LM's layers"),
          absl::StrCat(HybridLayersEach(model), ", as the layers before"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckHybridStages(const ModelSpec& model,
                               const PipelinePlan& plan) {
  if (!model.is_hybrid()) return absl::OkStatus();
  return RequireTransformerLayers(model, plan);
}

}  // namespace tangram
