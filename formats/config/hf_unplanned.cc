#include "formats/config/hf_unplanned.h"

#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "formats/config/hf_config.h"
#include "formats/config/hf_linear_attention.h"
#include "formats/config/hf_names.h"

namespace tangram {
namespace {

// Adds up what a model lacks.
class PartList {
 public:
  PartList(const std::vector<HfMixer>& mixers, const ModelSpec& model)
      : mixers_(mixers),
        embedding_(model.layers.front()),
        layers_(absl::MakeConstSpan(model.layers).subspan(1, mixers.size())) {}

  // Adds a part of this many parameters unless they are 0.
  void Add(absl::string_view what, double parameters) {
    if (parameters != 0) parts_.push_back({std::string(what), parameters});
  }
  // Adds a difference that is no matter of parameters.
  void Note(std::string what) { parts_.push_back({std::move(what)}); }

  using Count = std::function<double(const LayerSpec&)>;
  // Adds a part of all layers, of those with softmax attention or of those with
  // experts.
  void AddOfLayers(absl::string_view what, const Count& count) {
    double sum = 0;
    for (const LayerSpec& layer : layers_) sum += count(layer);
    Add(what, sum);
  }
  void AddOfSoftmax(absl::string_view what, const Count& count) {
    double sum = 0;
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (HasSoftmax(mixers_[i])) sum += count(layers_[i]);
    }
    Add(what, sum);
  }
  void AddOfExperts(absl::string_view what, const Count& count) {
    double sum = 0;
    for (const LayerSpec& layer : layers_) {
      if (layer.is_moe()) sum += count(layer);
    }
    Add(what, sum);
  }

  bool HasMixer(HfMixer mixer) const { return CountMixer(mixer) > 0; }
  int CountMixer(HfMixer mixer) const {
    int count = 0;
    for (const HfMixer each : mixers_) count += each == mixer ? 1 : 0;
    return count;
  }

  const std::vector<HfMixer>& mixers() const { return mixers_; }
  const LayerSpec& embedding() const { return embedding_; }
  absl::Span<const LayerSpec> layers() const { return layers_; }
  std::vector<UnplannedPart> Take() { return std::move(parts_); }

 private:
  const std::vector<HfMixer>& mixers_;
  const LayerSpec& embedding_;
  absl::Span<const LayerSpec> layers_;
  std::vector<UnplannedPart> parts_;
};

double NormWidth(const HfFamily& family, double features) {
  return features * (family.layer_norm ? 2 : 1);
}

void AddNorms(const HfFamily& family, PartList& parts) {
  const double h = parts.embedding().hidden_size;
  const double layers = static_cast<double>(parts.layers().size());
  const double norm = NormWidth(family, h);
  parts.Add(family.extra_norms < 0 ? "one norm where a planned layer has two"
                                   : "norms after attention and MLP",
            family.extra_norms * norm * layers);
  if (family.embedding_norm) parts.Add("norm of the embedding", norm);
  if (family.weightless_norms) {
    parts.Add("norms have no weights", -norm * (2 * layers + 1));
  }
  if (family.qk_norm == QkNorm::kWidth) {
    parts.AddOfSoftmax("norms of all queries and keys, planned as of one head",
                       [](const LayerSpec& layer) {
                         return (layer.num_heads + layer.num_kv_heads - 2.0) *
                                layer.head_dim;
                       });
  }
  if (family.qk_norm == QkNorm::kWeightless) {
    parts.AddOfSoftmax(
        "norms of queries and keys have no weights",
        [](const LayerSpec& layer) { return -2.0 * layer.head_dim; });
  }
}

void AddBiases(const HfFamily& family, PartList& parts) {
  const auto of_mlp = [](const LayerSpec& layer) {
    return layer.ffn_hidden_size * (layer.gated_mlp ? 2.0 : 1.0) +
           (layer.is_moe() ? 0 : layer.hidden_size);
  };
  parts.AddOfSoftmax(
      "biases of output projections", [&](const LayerSpec& layer) -> double {
        const bool has =
            family.output_bias && !layer.linear_bias && layer.kv_lora_rank == 0;
        return has ? layer.hidden_size : 0;
      });
  parts.AddOfLayers("biases of MLPs", [&](const LayerSpec& layer) -> double {
    return family.mlp_bias && !layer.linear_bias ? of_mlp(layer) : 0;
  });
  parts.AddOfLayers("biases of latent attention",
                    [&](const LayerSpec& layer) -> double {
                      if (layer.kv_lora_rank == 0 || !family.qkv_bias) return 0;
                      return layer.q_lora_rank + layer.kv_lora_rank +
                             layer.rope_head_dim + layer.hidden_size;
                    });
  if (family.head_bias) {
    parts.Add("bias of the head", parts.embedding().vocab_size);
  }
}

void AddExpertParts(const HfFamily& family, PartList& parts) {
  const auto experts = [](const LayerSpec& layer) -> double {
    return layer.num_experts;
  };
  if (family.routing_bias) parts.AddOfExperts("routing biases", experts);
  if (family.router_bias) parts.AddOfExperts("router biases", experts);
  if (family.shared_gate) {
    parts.AddOfExperts(
        "gates of shared experts", [](const LayerSpec& layer) -> double {
          return layer.shared_expert_ffn_hidden_size > 0 ? layer.hidden_size
                                                         : 0;
        });
  }
  if (family.dense_beside_experts) {
    // Norms of the dense MLP and of the experts, before and after; and scales.
    parts.AddOfExperts("norms and scales of experts beside a dense MLP",
                       [](const LayerSpec& layer) -> double {
                         return 4.0 * layer.hidden_size + layer.num_experts;
                       });
  }
}

// Gates on the output of attention, and sinks: a score for each head to which
// no token belongs.
absl::Status AddGatesAndSinks(const ConfigField& root, const HfFamily& family,
                              PartList& parts) {
  if (family.output_gate) {
    parts.AddOfSoftmax("gates on the output of attention",
                       [](const LayerSpec& layer) {
                         return 1.0 * layer.hidden_size * layer.num_heads *
                                layer.value_head_dim;
                       });
  }
  TANGRAM_ASSIGN_OR_RETURN(const bool head_gates,
                           ReadFlag(root, "use_head_wise_attn_gate"));
  if (head_gates) {
    parts.AddOfSoftmax("gates on the heads of attention",
                       [](const LayerSpec& layer) {
                         return 1.0 * layer.hidden_size * layer.num_heads;
                       });
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const bool sliding,
      ReadFlag(root, "add_swa_attention_sink_bias", family.sinks));
  TANGRAM_ASSIGN_OR_RETURN(
      const bool full,
      ReadFlag(root, "add_full_attention_sink_bias", family.sinks));
  double sinks = 0;
  for (size_t i = 0; i < parts.layers().size(); ++i) {
    const bool has = parts.mixers()[i] == HfMixer::kFull ? full : sliding;
    if (has) sinks += parts.layers()[i].num_heads;
  }
  parts.Add("attention sinks", sinks);
  return absl::OkStatus();
}

// Layers whose values are their keys (Gemma 4).
absl::Status AddSharedValues(const ConfigField& root, PartList& parts) {
  TANGRAM_ASSIGN_OR_RETURN(const bool shared,
                           ReadFlag(root, "attention_k_eq_v"));
  double values = 0;
  for (size_t i = 0; shared && i < parts.layers().size(); ++i) {
    const LayerSpec& layer = parts.layers()[i];
    if (parts.mixers()[i] != HfMixer::kFull) continue;
    values += 1.0 * layer.hidden_size * layer.num_kv_heads * layer.head_dim;
  }
  parts.Add("values that are the keys, planned as projected", -values);
  return absl::OkStatus();
}

absl::Status AddLinearAttention(const ConfigField& root, PartList& parts) {
  const int layers = parts.CountMixer(HfMixer::kLinear);
  if (layers == 0) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(const HfLinearAttention of,
                           ReadHfLinearAttention(root));
  parts.Add(
      absl::StrCat(layers,
                   " layers of linear attention, planned as windows of "
                   "attention with as much work and as many weights but "
                   "for convolutions and head gates"),
      layers * ParametersBesideStandIn(of, parts.embedding().hidden_size));
  return absl::OkStatus();
}

// Layers with an indexer of their own (GLM 5 shares those of others).
absl::StatusOr<int> CountIndexers(const ConfigField& root, int num_layers) {
  const std::optional<ConfigField> types = root.Find("indexer_types");
  if (!types.has_value()) return num_layers;
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           types->Elements());
  int count = 0;
  for (const ConfigField& element : elements) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string type, element.AsText());
    count += type == "full" ? 1 : 0;
  }
  return count;
}

// Indexers choose the tokens that attention sees (DeepSeek-V3.2, section 2.1):
// n heads of queries from the latent, one head of keys with a norm that has a
// bias, and a weight for each head.
absl::Status AddIndexers(const ConfigField& root, PartList& parts) {
  const std::optional<ConfigField> heads = root.Find("index_n_heads");
  if (!heads.has_value()) return absl::OkStatus();
  const LayerSpec& layer = parts.layers().front();
  TANGRAM_ASSIGN_OR_RETURN(const int n, heads->AsInt(1, kMaxHeads));
  TANGRAM_ASSIGN_OR_RETURN(const int d,
                           RequireInt(root, "index_head_dim", kMaxHeadDim));
  TANGRAM_ASSIGN_OR_RETURN(
      const int layers,
      CountIndexers(root, static_cast<int>(parts.layers().size())));
  const double queries =
      layer.q_lora_rank > 0 ? layer.q_lora_rank : layer.hidden_size;
  parts.Add(
      "indexers of sparse attention, which is planned as full",
      layers * (queries * n * d + 1.0 * layer.hidden_size * (d + n) + 2.0 * d));
  return absl::OkStatus();
}

// MiniMax M3 chooses blocks of tokens by heads of queries and one of keys, all
// with norms, in the layers that are marked by 1.
absl::Status AddBlockIndexers(const ConfigField& root, PartList& parts) {
  const std::optional<ConfigField> sparse =
      root.Find("sparse_attention_config");
  if (!sparse.has_value() || !sparse->is_mapping()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(
      const int n, RequireInt(*sparse, "sparse_num_index_heads", kMaxHeads));
  TANGRAM_ASSIGN_OR_RETURN(
      const int d, RequireInt(*sparse, "sparse_index_dim", kMaxHeadDim));
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField marks,
      sparse->Require("sparse_attention_freq", "0 or 1 for each layer"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           marks.Elements());
  int layers = 0;
  for (const ConfigField& element : elements) {
    TANGRAM_ASSIGN_OR_RETURN(const int mark, element.AsInt(0, 1));
    layers += mark;
  }
  const double h = parts.embedding().hidden_size;
  parts.Add("indexers of sparse attention, which is planned as full",
            layers * (h * (n + 1) * d + 2.0 * d));
  return absl::OkStatus();
}

// Adds the parts of OPT-350m, the only OPT model that has them: embeddings of
// another width than the model, projected to it and back, and norms after the
// sum with none at the end.
absl::Status AddOptParts(const ConfigField& root, PartList& parts) {
  const double h = parts.embedding().hidden_size;
  if (const auto field = root.Find("word_embed_proj_dim")) {
    TANGRAM_ASSIGN_OR_RETURN(const int width, field->AsInt(1, kMaxHiddenSize));
    if (width != h) {
      parts.Add(absl::StrCat("embeddings are ", width,
                             " wide and projected; planned as ", h),
                (width - h) * parts.embedding().vocab_size + 2 * h * width);
    }
  }
  if (const auto field = root.Find("do_layer_norm_before")) {
    TANGRAM_ASSIGN_OR_RETURN(const bool before, field->AsBool());
    if (!before) {
      parts.Add(
          "norms come after the sum; planned as before it, with a final one",
          -2 * h);
    }
  }
  return absl::OkStatus();
}

// Notes what no parameters tell.
absl::Status AddNotes(const ConfigField& root, const ConfigField& file,
                      const ModelSpec& model, PartList& parts) {
  if (root.path() != file.path()) {
    parts.Note(absl::StrCat("all but the language model (", root.path(), ")"));
  } else if (FindAnyOf(file, {"vision_config", "audio_config", "img_processor",
                              "mm_vision_tower"})
                 .has_value()) {
    parts.Note("all but the language model");
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const int predicted,
      ReadAnyInt(root,
                 {"num_nextn_predict_layers", "num_mtp_modules",
                  "mtp_num_hidden_layers"},
                 0, 0, kMaxTransformerLayers));
  if (predicted > 0) {
    parts.Note(
        "multi-token prediction modules, which published totals do not count "
        "either");
  }
  if (parts.HasMixer(HfMixer::kChunked)) {
    parts.Note("chunks of attention, planned as windows of their length");
  }
  for (const ConfigField* part : {&root, &file}) {
    const std::optional<ConfigField> quantization =
        part->Find("quantization_config");
    if (!quantization.has_value() || !quantization->is_mapping()) continue;
    const auto method =
        FindAnyOf(*quantization, {"quant_method", "quant_algo"});
    const std::string name =
        method.has_value() ? method->AsText().value_or("") : "";
    parts.Note(absl::StrCat(
        "the quantization of the weights", name.empty() ? "" : " (", name,
        name.empty() ? "" : ")", "; planned in ",
        model.details.dtype.empty() ? "full precision" : model.details.dtype));
    break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<UnplannedPart>> HfUnplannedParts(
    const ConfigField& file, const HfFoundFamily& found,
    const std::vector<HfMixer>& mixers, const ModelSpec& model) {
  const ConfigField root = HfTextConfig(file);
  const HfFamily& family = found.family;
  PartList parts(mixers, model);
  if (!found.note.empty()) parts.Note(found.note);
  AddExpertParts(family, parts);
  AddNorms(family, parts);
  AddBiases(family, parts);
  TANGRAM_RETURN_IF_ERROR(AddGatesAndSinks(root, family, parts));
  TANGRAM_RETURN_IF_ERROR(AddSharedValues(root, parts));
  TANGRAM_RETURN_IF_ERROR(AddLinearAttention(root, parts));
  TANGRAM_RETURN_IF_ERROR(AddIndexers(root, parts));
  TANGRAM_RETURN_IF_ERROR(AddBlockIndexers(root, parts));
  if (family.model_type == "opt") {
    TANGRAM_RETURN_IF_ERROR(AddOptParts(root, parts));
  }
  TANGRAM_RETURN_IF_ERROR(AddNotes(root, file, model, parts));
  return parts.Take();
}

}  // namespace tangram
