#include "formats/config/model_fields.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/device.h"
#include "common/domain/limits.h"
#include "formats/catalogue/assemble_model.h"
#include "formats/config/layer_overrides.h"
#include "formats/config/mixer_fields.h"

namespace tangram {
namespace {

// Heads are optional in a file whose layers have another mixer unless their
// override says otherwise.
absl::Status ReadHeads(const ConfigField& root, bool needed, LayerSpec& layer) {
  if (!needed && !root.Find("heads").has_value()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(layer.num_heads,
                           RequireInt(root, "heads", kMaxHeads));
  TANGRAM_ASSIGN_OR_RETURN(
      layer.num_kv_heads,
      ReadInt(root, "kv_heads", layer.num_heads, 1, kMaxHeads));
  if (layer.num_heads % layer.num_kv_heads != 0) {
    return root.Find("kv_heads")
        ->Error(absl::StrCat("a divisor of heads (", layer.num_heads, ")"));
  }
  const bool divides = layer.hidden_size % layer.num_heads == 0;
  if (!divides && !root.Find("head_dim").has_value()) {
    return root.Find("heads")->Error(
        absl::StrCat("a divisor of hidden_size (", layer.hidden_size,
                     ") unless head_dim is given"));
  }
  TANGRAM_ASSIGN_OR_RETURN(
      layer.head_dim,
      ReadInt(root, "head_dim", layer.hidden_size / layer.num_heads, 1,
              kMaxHeadDim));
  TANGRAM_ASSIGN_OR_RETURN(
      layer.value_head_dim,
      ReadInt(root, "value_head_dim", layer.head_dim, 1, kMaxHeadDim));
  return absl::OkStatus();
}

absl::Status ReadLatentAttention(const ConfigField& root, LayerSpec& layer) {
  const std::optional<ConfigField> latent = root.Find("latent_attention");
  if (!latent.has_value()) return absl::OkStatus();
  TANGRAM_RETURN_IF_ERROR(latent->CheckKeys(
      {"q_rank", "kv_rank", "rope_head_dim", "value_head_dim"}));
  TANGRAM_ASSIGN_OR_RETURN(layer.q_lora_rank,
                           ReadInt(*latent, "q_rank", 0, 0, kMaxHiddenSize));
  TANGRAM_ASSIGN_OR_RETURN(layer.kv_lora_rank,
                           RequireInt(*latent, "kv_rank", kMaxHiddenSize));
  TANGRAM_ASSIGN_OR_RETURN(layer.rope_head_dim,
                           RequireInt(*latent, "rope_head_dim", kMaxHeadDim));
  TANGRAM_ASSIGN_OR_RETURN(layer.value_head_dim,
                           RequireInt(*latent, "value_head_dim", kMaxHeadDim));
  if (layer.rope_head_dim < layer.head_dim) return absl::OkStatus();
  return latent->Find("rope_head_dim")
      ->Error(absl::StrCat("less than head_dim (", layer.head_dim,
                           "), of which it is a part"));
}

absl::Status ReadBiasesAndNorms(const ConfigField& root, LayerSpec& layer) {
  TANGRAM_ASSIGN_OR_RETURN(layer.gated_mlp, ReadFlag(root, "gated_mlp"));
  TANGRAM_ASSIGN_OR_RETURN(layer.norm_bias, ReadFlag(root, "norm_bias"));
  TANGRAM_ASSIGN_OR_RETURN(layer.qk_norm, ReadFlag(root, "qk_norm"));
  const std::optional<ConfigField> bias = root.Find("bias");
  if (!bias.has_value()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(const std::string which, bias->AsText());
  if (which != "none" && which != "qkv" && which != "all") {
    return bias->Error("none, qkv or all");
  }
  layer.linear_bias = which == "all";
  layer.qkv_bias = which == "qkv";
  return absl::OkStatus();
}

// The experts of a model: layers `first_layer`, first_layer + every,
// first_layer + 2·every, ... have them, and there `layer` holds.
struct Experts {
  LayerSpec layer;
  int first_layer = 0;
  int every = 1;

  bool AreIn(int i) const {
    return i >= first_layer && (i - first_layer) % every == 0;
  }
};

absl::StatusOr<Experts> ReadExperts(const ConfigField& field,
                                    const LayerSpec& layer) {
  TANGRAM_RETURN_IF_ERROR(field.CheckKeys(
      {"count", "per_token", "ffn_hidden_size", "shared_ffn_hidden_size",
       "latent_size", "capacity_factor", "group_tokens", "first_layer",
       "every"}));
  Experts experts{.layer = layer};
  LayerSpec& moe = experts.layer;
  TANGRAM_ASSIGN_OR_RETURN(moe.num_experts,
                           RequireInt(field, "count", kMaxExperts));
  TANGRAM_ASSIGN_OR_RETURN(moe.experts_per_token,
                           RequireInt(field, "per_token", moe.num_experts));
  TANGRAM_ASSIGN_OR_RETURN(
      moe.expert_ffn_hidden_size,
      RequireInt(field, "ffn_hidden_size", kMaxFfnHiddenSize));
  TANGRAM_ASSIGN_OR_RETURN(
      moe.shared_expert_ffn_hidden_size,
      ReadInt(field, "shared_ffn_hidden_size", 0, 0, kMaxFfnHiddenSize));
  TANGRAM_ASSIGN_OR_RETURN(moe.expert_latent_size,
                           ReadInt(field, "latent_size", 0, 0, kMaxHiddenSize));
  if (const auto factor = field.Find("capacity_factor"); factor.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(moe.expert_capacity_factor,
                             factor->AsNumber(0, kMaxExpertCapacityFactor));
    if (moe.expert_capacity_factor > 0 && moe.expert_capacity_factor < 1) {
      return factor->Error("0, or a number from 1");
    }
  }
  TANGRAM_ASSIGN_OR_RETURN(moe.expert_group_tokens,
                           ReadInt(field, "group_tokens", 0, 0, kMaxPositions));
  if (moe.expert_group_tokens > 0 && moe.expert_capacity_factor == 0) {
    return field.Find("group_tokens")
        ->Error("0, as there is no capacity_factor");
  }
  TANGRAM_ASSIGN_OR_RETURN(
      experts.first_layer,
      ReadInt(field, "first_layer", 0, 0, kMaxTransformerLayers));
  TANGRAM_ASSIGN_OR_RETURN(
      experts.every, ReadInt(field, "every", 1, 1, kMaxTransformerLayers));
  return experts;
}

// Reads a number of tokens for all layers, or {tokens, first_layer, every}.
absl::Status ReadSlidingWindow(const ConfigField& root,
                               std::vector<LayerSpec>& layers) {
  const std::optional<ConfigField> field = root.Find("sliding_window");
  if (!field.has_value()) return absl::OkStatus();
  int tokens = 0;
  int first = 0;
  int every = 1;
  if (field->is_mapping()) {
    TANGRAM_RETURN_IF_ERROR(
        field->CheckKeys({"tokens", "first_layer", "every"}));
    TANGRAM_ASSIGN_OR_RETURN(tokens,
                             RequireInt(*field, "tokens", kMaxPositions));
    TANGRAM_ASSIGN_OR_RETURN(
        first, ReadInt(*field, "first_layer", 0, 0, kMaxTransformerLayers));
    TANGRAM_ASSIGN_OR_RETURN(
        every, ReadInt(*field, "every", 1, 1, kMaxTransformerLayers));
  } else {
    TANGRAM_ASSIGN_OR_RETURN(tokens, field->AsInt(0, kMaxPositions));
  }
  for (size_t i = first; i < layers.size(); i += every) {
    if (layers[i].mixer != MixerKind::kAttention) continue;
    layers[i].sliding_window = tokens;
  }
  return absl::OkStatus();
}

// Reads layers of the mixer `base`, as far as nothing overrides it.
absl::StatusOr<std::vector<LayerSpec>> ReadLayers(const ConfigField& root,
                                                  const MixerLayers& mixers,
                                                  MixerKind base) {
  LayerSpec bare = mixers.Of(base);
  TANGRAM_ASSIGN_OR_RETURN(const bool mlp, ReadFlag(root, "mlp", true));
  bare.no_mlp = !mlp;
  TANGRAM_ASSIGN_OR_RETURN(const int num_layers,
                           RequireInt(root, "layers", kMaxTransformerLayers));
  Experts experts{.first_layer = num_layers};
  if (const auto field = root.Find("experts")) {
    if (bare.no_mlp) return field->Error("no experts, as mlp is false");
    TANGRAM_ASSIGN_OR_RETURN(experts, ReadExperts(*field, bare));
    if (experts.first_layer >= num_layers) {
      return field->Find("first_layer")
          ->Error(absl::StrCat("one of the ", num_layers,
                               " layers, counted from 0"));
    }
  }
  std::vector<LayerSpec> layers;
  for (int i = 0; i < num_layers; ++i) {
    if (experts.AreIn(i)) {
      layers.push_back(experts.layer);
      continue;
    }
    LayerSpec& dense = layers.emplace_back(bare);
    if (bare.no_mlp) continue;
    TANGRAM_ASSIGN_OR_RETURN(
        dense.ffn_hidden_size,
        RequireInt(root, "ffn_hidden_size", kMaxFfnHiddenSize));
  }
  TANGRAM_RETURN_IF_ERROR(ReadSlidingWindow(root, layers));
  TANGRAM_RETURN_IF_ERROR(ReadLayerOverrides(root, mixers, layers));
  return layers;
}

absl::StatusOr<std::string> ReadDtype(const ConfigField& root) {
  const std::optional<ConfigField> field = root.Find("dtype");
  if (!field.has_value()) return "";
  TANGRAM_ASSIGN_OR_RETURN(std::string dtype, field->AsText());
  if (PrecisionOfDtype(dtype).has_value()) return dtype;
  return field->Error("float32, float16 or bfloat16");
}

absl::StatusOr<std::optional<double>> ReadRate(const ConfigField& root,
                                               absl::string_view key) {
  const std::optional<ConfigField> field = root.Find(key);
  if (!field.has_value()) return std::nullopt;
  TANGRAM_ASSIGN_OR_RETURN(const double rate, field->AsNumber(0, 1));
  return rate;
}

}  // namespace

absl::StatusOr<ModelSpec> ReadModelFields(const ConfigField& root,
                                          const std::string& name) {
  TANGRAM_RETURN_IF_ERROR(root.CheckKeys({"name",
                                          "layers",
                                          "hidden_size",
                                          "mixer",
                                          "mlp",
                                          "mamba",
                                          "heads",
                                          "kv_heads",
                                          "head_dim",
                                          "value_head_dim",
                                          "sliding_window",
                                          "latent_attention",
                                          "ffn_hidden_size",
                                          "gated_mlp",
                                          "experts",
                                          "vocab_size",
                                          "max_positions",
                                          "overrides",
                                          "tied_embeddings",
                                          "bias",
                                          "norm_bias",
                                          "qk_norm",
                                          "dtype",
                                          "attention_dropout",
                                          "hidden_dropout",
                                          "no_positions",
                                          "unplanned"}));
  TANGRAM_ASSIGN_OR_RETURN(
      const std::string model_name,
      ReadOr(root, "name", name,
             [](const ConfigField& field) { return field.AsText(); }));
  MixerLayers mixers;
  LayerSpec& attention = mixers.attention;
  TANGRAM_ASSIGN_OR_RETURN(attention.hidden_size,
                           RequireInt(root, "hidden_size", kMaxHiddenSize));
  TANGRAM_RETURN_IF_ERROR(ReadBiasesAndNorms(root, attention));
  mixers.mamba = attention;
  mixers.mamba.qkv_bias = mixers.mamba.qk_norm = false;
  TANGRAM_RETURN_IF_ERROR(ReadMambaFields(root, mixers.mamba));
  TANGRAM_ASSIGN_OR_RETURN(
      const MixerKind base,
      ReadMixer(root, mixers.mamba, MixerKind::kAttention));
  TANGRAM_RETURN_IF_ERROR(
      ReadHeads(root, base == MixerKind::kAttention, attention));
  TANGRAM_RETURN_IF_ERROR(ReadLatentAttention(root, attention));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<LayerSpec> layers,
                           ReadLayers(root, mixers, base));
  Vocabulary vocabulary;
  TANGRAM_ASSIGN_OR_RETURN(vocabulary.size,
                           RequireInt(root, "vocab_size", kMaxVocabulary));
  TANGRAM_ASSIGN_OR_RETURN(vocabulary.max_position_embeddings,
                           ReadInt(root, "max_positions", 0, 0, kMaxPositions));
  TANGRAM_ASSIGN_OR_RETURN(vocabulary.tied, ReadFlag(root, "tied_embeddings"));
  ModelSpec model = AssembleModel(model_name, vocabulary, layers);
  TANGRAM_ASSIGN_OR_RETURN(model.details.dtype, ReadDtype(root));
  TANGRAM_ASSIGN_OR_RETURN(model.details.attention_dropout,
                           ReadRate(root, "attention_dropout"));
  TANGRAM_ASSIGN_OR_RETURN(model.details.hidden_dropout,
                           ReadRate(root, "hidden_dropout"));
  TANGRAM_ASSIGN_OR_RETURN(model.details.no_positions,
                           ReadFlag(root, "no_positions"));
  if (const auto list = root.Find("unplanned")) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                             list->Elements());
    if (elements.size() > kMaxUnplannedParts) {
      return list->Error(
          absl::StrCat("at most ", kMaxUnplannedParts, " texts"));
    }
    for (const ConfigField& element : elements) {
      TANGRAM_ASSIGN_OR_RETURN(std::string what, element.AsNote());
      model.details.unplanned.push_back(std::move(what));
    }
  }
  return model;
}

}  // namespace tangram
