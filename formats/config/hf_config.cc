#include "formats/config/hf_config.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "formats/catalogue/assemble_model.h"
#include "formats/config/hf_attention.h"
#include "formats/config/hf_details.h"
#include "formats/config/hf_experts.h"
#include "formats/config/hf_family.h"
#include "formats/config/hf_names.h"

namespace tangram {
namespace {

constexpr absl::string_view kPositions[] = {"max_position_embeddings",
                                            "n_positions"};

// Sets biases, norms and the kind of the MLP. A bias of the MLP or of the
// output projection alone is no part of a layer; HfUnplannedParts counts it.
void SetBiasesAndNorms(const HfFamily& family, LayerSpec& layer) {
  const bool all = family.qkv_bias && family.output_bias && family.mlp_bias;
  layer.linear_bias = family.linear_bias || all;
  layer.qkv_bias =
      !layer.linear_bias && family.qkv_bias && layer.kv_lora_rank == 0;
  layer.qk_norm = family.qk_norm != QkNorm::kNone && layer.kv_lora_rank == 0;
  layer.norm_bias = family.layer_norm;
  layer.gated_mlp = family.gated_mlp;
}

// The stand-in for linear attention, and other mixers, have no biases and norms
// of their own.
void SetBiasesAndNorms(const HfFamily& family, HfMixer mixer,
                       LayerSpec& layer) {
  SetBiasesAndNorms(family, layer);
  if (HasSoftmax(mixer)) return;
  layer.qkv_bias = layer.qk_norm = false;
}

absl::StatusOr<int> ReadFfnHiddenSize(const ConfigField& root,
                                      const HfFamily& family, int hidden_size) {
  // Granite 4 has an MLP as wide as the shared expert where it has no experts.
  if (family.hybrid == HybridRule::kTypes) {
    TANGRAM_ASSIGN_OR_RETURN(
        const int shared,
        ReadInt(root, "shared_intermediate_size", 0, 0, kMaxFfnHiddenSize));
    if (shared > 0) return shared;
  }
  // The first two are of dense layers between layers with experts.
  const std::optional<ConfigField> field =
      FindAnyOf(root, {"intermediate_size_mlp", "dense_intermediate_size",
                       "intermediate_size", "ffn_dim", "d_ff", "n_inner",
                       "ffn_hidden_size"});
  if (!field.has_value()) {
    if (!family.gated_mlp) {
      TANGRAM_ASSIGN_OR_RETURN(
          const int ratio,
          ReadInt(root, "expansion_ratio", 4, 1,
                  std::max(kMaxFfnHiddenSize / hidden_size, 1)));
      return ratio * hidden_size;
    }
    return RequireAnyInt(root, {"intermediate_size"}, kMaxFfnHiddenSize,
                         family.sizes.ffn_hidden_size);
  }
  TANGRAM_ASSIGN_OR_RETURN(const int size, field->AsInt(1, kMaxFfnHiddenSize));
  return family.half_ffn ? size / 2 : size;
}

// Files of several parts have tie_word_embeddings outside or inside.
absl::StatusOr<Vocabulary> ReadVocabulary(const ConfigField& root,
                                          const ConfigField& file,
                                          const HfFamily& family) {
  Vocabulary vocabulary;
  TANGRAM_ASSIGN_OR_RETURN(
      vocabulary.size, RequireAnyInt(root, {"vocab_size", "padded_vocab_size"},
                                     kMaxVocabulary, family.sizes.vocab_size));
  TANGRAM_ASSIGN_OR_RETURN(
      const bool outside,
      ReadFlag(file, "tie_word_embeddings", family.tied_embeddings));
  TANGRAM_ASSIGN_OR_RETURN(vocabulary.tied,
                           ReadFlag(root, "tie_word_embeddings", outside));
  if (family.learned_positions) {
    TANGRAM_ASSIGN_OR_RETURN(vocabulary.max_position_embeddings,
                             RequireAnyInt(root, kPositions, kMaxPositions));
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

// Positions beyond this were stretched after the first training.
constexpr int kLongestFirstTraining = 8192;

// Rotary positions that were stretched say from what. A table of positions, and
// few positions, are those of the first training.
absl::StatusOr<std::optional<int>> ReadSequenceLength(
    const ConfigField& root, const HfFamily& family,
    const ModelDetails& details) {
  if (details.rope_scaling.original_positions > 0) {
    return details.rope_scaling.original_positions;
  }
  const std::optional<ConfigField> field = FindAnyOf(
      root, {"seq_length", "original_max_position_embeddings",
             "max_position_embeddings", "n_positions", "max_seq_len"});
  if (!field.has_value()) return std::nullopt;
  TANGRAM_ASSIGN_OR_RETURN(const int tokens, field->AsInt(1, kMaxPositions));
  if (tokens <= kLongestFirstTraining || family.learned_positions) {
    return tokens;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<LayerSpec>> ReadLayers(
    const ConfigField& root, const HfFamily& family,
    const HfAttention& attention) {
  std::vector<LayerSpec> layers = attention.layers;
  const int num_layers = static_cast<int>(layers.size());
  TANGRAM_ASSIGN_OR_RETURN(const HfExperts experts,
                           ReadHfExperts(root, family, num_layers));
  for (int i = 0; i < num_layers; ++i) {
    SetBiasesAndNorms(family, attention.mixers[i], layers[i]);
    if (layers[i].no_mlp) continue;
    if (experts.is_moe_layer[i]) {
      experts.AddTo(layers[i]);
    } else {
      TANGRAM_ASSIGN_OR_RETURN(
          layers[i].ffn_hidden_size,
          ReadFfnHiddenSize(root, family, layers[i].hidden_size));
    }
  }
  return layers;
}

// Returns the part of a file under the first of `names` that is a mapping.
std::optional<ConfigField> FindPart(const ConfigField& file, HfNames names) {
  const std::optional<ConfigField> part = FindAnyOf(file, names);
  if (part.has_value() && part->is_mapping()) return part;
  return std::nullopt;
}

}  // namespace

bool IsHfConfig(const ConfigField& file) {
  return FindAnyOf(file, {"model_type", "architectures", "_class_name"})
      .has_value();
}

absl::Status NoHfConfigError(const ConfigField& file) {
  // Old files of transformers lack the type; others have no such fields.
  for (const auto& [field, type] :
       {std::pair("n_embd", "gpt2"), std::pair("num_hidden_layers", "llama")}) {
    if (!file.Find(field).has_value()) continue;
    return file.MissingError(
        "model_type", absl::StrCat("the type of the model beside ", field,
                                   ": \"model_type\": \"", type,
                                   "\" if its layers are those of ", type));
  }
  const std::string other = NameOfOthers(file);
  return file.MissingError(
      "model_type",
      absl::StrCat("a type such as llama, as in a config.json of Hugging "
                   "Face's transformers",
                   other.empty() ? "" : ", which has ", other,
                   "; files of other programs, such as params.json, are not "
                   "read: write a model file (docs/model-file.md)"));
}

ConfigField HfTextConfig(const ConfigField& file) {
  // Models that also speak have a part that thinks.
  const ConfigField whole = FindPart(file, {"thinker_config"}).value_or(file);
  const std::optional<ConfigField> text = FindPart(
      whole, {"text_config", "llm_config", "language_config", "text_model"});
  if (!text.has_value()) return file;
  return IsHfConfig(*text) || text->Find("hidden_size").has_value() ? *text
                                                                    : file;
}

absl::StatusOr<HfModel> ReadHfModel(const ConfigField& file,
                                    const std::string& name) {
  const ConfigField root = HfTextConfig(file);
  TANGRAM_ASSIGN_OR_RETURN(const HfFoundFamily found, ReadHfFamily(root, file));
  const HfFamily& family = found.family;
  TANGRAM_ASSIGN_OR_RETURN(const std::string model_name, ReadName(file, name));
  TANGRAM_ASSIGN_OR_RETURN(const HfAttention attention,
                           ReadHfAttention(root, family));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<LayerSpec> layers,
                           ReadLayers(root, family, attention));
  TANGRAM_ASSIGN_OR_RETURN(const Vocabulary vocabulary,
                           ReadVocabulary(root, file, family));
  HfModel read{.model = AssembleModel(model_name, vocabulary, layers)};
  TANGRAM_ASSIGN_OR_RETURN(read.model.details,
                           ReadHfDetails(root, file, family));
  if (const auto rotary = root.Find("rotary_dim");
      rotary.has_value() && read.model.details.rope_fraction == 0) {
    int head_dim = 1;
    for (const LayerSpec& layer : layers) {
      head_dim = std::max(head_dim, layer.head_dim);
    }
    TANGRAM_ASSIGN_OR_RETURN(const int dim, rotary->AsInt(1, head_dim));
    read.model.details.rope_fraction = 1.0 * dim / head_dim;
  }
  TANGRAM_ASSIGN_OR_RETURN(
      read.sequence_length,
      ReadSequenceLength(root, family, read.model.details));
  TANGRAM_ASSIGN_OR_RETURN(
      read.unplanned,
      HfUnplannedParts(file, found, attention.mixers, read.model));
  for (const UnplannedPart& part : read.unplanned) {
    read.model.details.unplanned.push_back(part.what);
  }
  return read;
}

}  // namespace tangram
