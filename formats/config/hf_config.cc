#include "formats/config/hf_config.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "formats/catalogue/assemble_model.h"
#include "formats/config/hf_details.h"
#include "formats/config/hf_experts.h"
#include "formats/config/hf_family.h"
#include "formats/config/hf_sliding_window.h"

namespace tangram {
namespace {

// Returns the field under the first of `keys` that the file has.
absl::StatusOr<ConfigField> RequireAny(
    const ConfigField& root, absl::Span<const absl::string_view> keys) {
  for (const absl::string_view key : keys) {
    if (std::optional<ConfigField> field = root.Find(key)) return *field;
  }
  return root.MissingError(keys.front(), "a positive integer");
}

absl::StatusOr<int> ReadAny(const ConfigField& root,
                            absl::Span<const absl::string_view> keys, int max) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field, RequireAny(root, keys));
  return field.AsInt(1, max);
}

absl::Status ReadKvHeads(const ConfigField& root, const HfFamily& family,
                         LayerSpec& layer) {
  layer.num_kv_heads = layer.num_heads;
  const std::optional<ConfigField> kv = root.Find("num_key_value_heads");
  if (!kv.has_value()) {
    if (!family.needs_kv_heads) return absl::OkStatus();
    return root.MissingError("num_key_value_heads", "a positive integer");
  }
  TANGRAM_ASSIGN_OR_RETURN(layer.num_kv_heads, kv->AsInt(1, kMaxHeads));
  if (layer.num_heads % layer.num_kv_heads == 0) return absl::OkStatus();
  return kv->Error(
      absl::StrCat("a divisor of the ", layer.num_heads, " attention heads"));
}

absl::Status ReadLatentAttention(const ConfigField& root, LayerSpec& layer) {
  TANGRAM_ASSIGN_OR_RETURN(
      layer.q_lora_rank,
      ReadOr(root, "q_lora_rank", 0, [](const ConfigField& field) {
        return field.AsInt(1, kMaxHiddenSize);
      }));
  TANGRAM_ASSIGN_OR_RETURN(layer.kv_lora_rank,
                           ReadAny(root, {"kv_lora_rank"}, kMaxHiddenSize));
  TANGRAM_ASSIGN_OR_RETURN(layer.rope_head_dim,
                           ReadAny(root, {"qk_rope_head_dim"}, kMaxHeadDim));
  TANGRAM_ASSIGN_OR_RETURN(layer.value_head_dim,
                           ReadAny(root, {"v_head_dim"}, kMaxHeadDim));
  TANGRAM_ASSIGN_OR_RETURN(const int nope_head_dim,
                           ReadAny(root, {"qk_nope_head_dim"}, kMaxHeadDim));
  layer.head_dim = nope_head_dim + layer.rope_head_dim;
  layer.num_kv_heads = layer.num_heads;
  return absl::OkStatus();
}

absl::Status ReadAttention(const ConfigField& root, const HfFamily& family,
                           LayerSpec& layer) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField heads,
                           RequireAny(root, {"num_attention_heads", "n_head"}));
  TANGRAM_ASSIGN_OR_RETURN(layer.num_heads, heads.AsInt(1, kMaxHeads));
  if (family.latent_attention) return ReadLatentAttention(root, layer);

  TANGRAM_RETURN_IF_ERROR(ReadKvHeads(root, family, layer));
  if (const std::optional<ConfigField> dim = root.Find("head_dim")) {
    TANGRAM_ASSIGN_OR_RETURN(layer.head_dim, dim->AsInt(1, kMaxHeadDim));
  } else if (layer.hidden_size % layer.num_heads != 0) {
    return heads.Error(absl::StrCat("a divisor of hidden_size (",
                                    layer.hidden_size,
                                    ") unless head_dim is given"));
  } else {
    layer.head_dim = layer.hidden_size / layer.num_heads;
  }
  layer.value_head_dim = layer.head_dim;
  return absl::OkStatus();
}

// `attention_bias` puts a bias on the output projection too in some families.
// LayerSpec has one there only together with the biases of the MLP.
absl::Status ReadBiasesAndNorms(const ConfigField& root, const HfFamily& family,
                                LayerSpec& layer) {
  TANGRAM_ASSIGN_OR_RETURN(const bool attention_bias,
                           ReadFlag(root, "attention_bias", false));
  TANGRAM_ASSIGN_OR_RETURN(const bool mlp_bias,
                           ReadFlag(root, "mlp_bias", false));
  TANGRAM_ASSIGN_OR_RETURN(layer.qk_norm,
                           ReadFlag(root, "use_qk_norm", family.qk_norm));
  layer.linear_bias = family.linear_bias || (attention_bias && mlp_bias);
  layer.qkv_bias = !layer.linear_bias && (family.qkv_bias || attention_bias);
  layer.norm_bias = family.layer_norm;
  layer.gated_mlp = family.gated_mlp;
  return absl::OkStatus();
}

absl::StatusOr<int> ReadFfnHiddenSize(const ConfigField& root,
                                      const HfFamily& family, int hidden_size) {
  for (const absl::string_view key :
       {"intermediate_size", "ffn_dim", "d_ff", "n_inner"}) {
    if (const auto field = root.Find(key)) {
      return field->AsInt(1, kMaxFfnHiddenSize);
    }
  }
  if (!family.gated_mlp) return 4 * hidden_size;
  return root.MissingError("intermediate_size", "a positive integer");
}

absl::StatusOr<Vocabulary> ReadVocabulary(const ConfigField& root,
                                          const HfFamily& family) {
  Vocabulary vocabulary;
  TANGRAM_ASSIGN_OR_RETURN(vocabulary.size,
                           ReadAny(root, {"vocab_size"}, kMaxVocabulary));
  TANGRAM_ASSIGN_OR_RETURN(
      vocabulary.tied,
      ReadFlag(root, "tie_word_embeddings", family.tied_embeddings));
  if (family.learned_positions) {
    TANGRAM_ASSIGN_OR_RETURN(
        vocabulary.max_position_embeddings,
        ReadAny(root, {"max_position_embeddings", "n_positions"},
                kMaxPositions));
    vocabulary.max_position_embeddings += family.extra_positions;
  }
  return vocabulary;
}

absl::StatusOr<std::string> ReadName(const ConfigField& root,
                                     const std::string& fallback) {
  const std::optional<ConfigField> field = root.Find("_name_or_path");
  if (!field.has_value()) return fallback;
  const absl::StatusOr<std::string> text = field->AsText();
  if (!text.ok()) return fallback;  // _name_or_path is often left empty.
  const std::vector<std::string> parts = absl::StrSplit(*text, '/');
  return parts.back().empty() ? fallback : parts.back();
}

}  // namespace

ConfigField HfTextConfig(const ConfigField& file) {
  const std::optional<ConfigField> text = file.Find("text_config");
  return text.has_value() && text->Find("model_type").has_value() ? *text
                                                                  : file;
}

absl::StatusOr<ModelSpec> ReadHfConfig(const ConfigField& file,
                                       const std::string& name) {
  const ConfigField root = HfTextConfig(file);
  TANGRAM_ASSIGN_OR_RETURN(const HfFamily family, ReadHfFamily(root));
  TANGRAM_ASSIGN_OR_RETURN(const std::string model_name, ReadName(file, name));
  TANGRAM_ASSIGN_OR_RETURN(
      const int num_layers,
      ReadAny(root, {"num_hidden_layers", "n_layer", "num_layers"},
              kMaxTransformerLayers));
  LayerSpec layer;
  TANGRAM_ASSIGN_OR_RETURN(
      layer.hidden_size,
      ReadAny(root, {"hidden_size", "n_embd", "d_model"}, kMaxHiddenSize));
  TANGRAM_RETURN_IF_ERROR(ReadAttention(root, family, layer));
  TANGRAM_RETURN_IF_ERROR(ReadBiasesAndNorms(root, family, layer));
  TANGRAM_ASSIGN_OR_RETURN(const HfExperts experts,
                           ReadHfExperts(root, family, num_layers));

  std::vector<LayerSpec> layers(num_layers, layer);
  for (int i = 0; i < num_layers; ++i) {
    if (experts.is_moe_layer[i]) {
      experts.AddTo(layers[i]);
    } else {
      TANGRAM_ASSIGN_OR_RETURN(
          layers[i].ffn_hidden_size,
          ReadFfnHiddenSize(root, family, layer.hidden_size));
    }
  }
  TANGRAM_RETURN_IF_ERROR(
      ReadHfSlidingWindows(root, family.sliding_window, layers));
  TANGRAM_ASSIGN_OR_RETURN(const Vocabulary vocabulary,
                           ReadVocabulary(root, family));
  ModelSpec model = AssembleModel(model_name, vocabulary, layers);
  TANGRAM_ASSIGN_OR_RETURN(model.details, ReadHfDetails(root, family));
  return model;
}

}  // namespace tangram
