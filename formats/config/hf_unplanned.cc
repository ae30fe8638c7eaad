#include "formats/config/hf_unplanned.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "formats/config/hf_config.h"

namespace tangram {
namespace {

using Parts = std::vector<UnplannedPart>;

double Sum(const ModelSpec& model, double (*of)(const LayerSpec&)) {
  double sum = 0;
  for (const LayerSpec& layer : model.layers) sum += of(layer);
  return sum;
}

double ExpertsOf(const LayerSpec& layer) { return layer.num_experts; }
double Heads(const LayerSpec& layer) { return layer.num_heads; }
double SharedGate(const LayerSpec& layer) {
  return layer.shared_expert_ffn_hidden_size > 0 ? layer.hidden_size : 0;
}

// Adds the parts of OPT-350m, the only OPT model that has them: embeddings of
// another width than the model, projected to it and back, and norms after the
// sum with none at the end.
absl::Status AddOptParts(const ConfigField& root, const ModelSpec& model,
                         Parts& parts) {
  const LayerSpec& embedding = model.layers.front();
  const double h = embedding.hidden_size;
  if (const auto field = root.Find("word_embed_proj_dim")) {
    TANGRAM_ASSIGN_OR_RETURN(const int width, field->AsInt(1, kMaxHiddenSize));
    if (width != h) {
      parts.push_back({absl::StrCat("embeddings are ", width,
                                    " wide and projected; planned as ", h),
                       (width - h) * embedding.vocab_size + 2 * h * width});
    }
  }
  if (const auto field = root.Find("do_layer_norm_before")) {
    TANGRAM_ASSIGN_OR_RETURN(const bool before, field->AsBool());
    if (!before) {
      parts.push_back(
          {"norms come after the sum; planned as before it, with "
           "a final one",
           -2 * h});
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<UnplannedPart>> HfUnplannedParts(
    const ConfigField& root, const ModelSpec& model) {
  const ConfigField text = HfTextConfig(root);
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField type,
                           text.Require("model_type", "a model type"));
  TANGRAM_ASSIGN_OR_RETURN(const std::string family, type.AsText());
  Parts parts;
  const auto add = [&parts](absl::string_view what, double parameters) {
    if (parameters != 0) parts.push_back({std::string(what), parameters});
  };
  if (family == "deepseek_v3" || family == "glm4_moe") {
    add("routing biases", Sum(model, ExpertsOf));
  } else if (family == "gpt_oss") {
    add("router biases", Sum(model, ExpertsOf));
    add("attention sinks", Sum(model, Heads));
  } else if (family == "qwen2_moe") {
    add("gates of shared experts", Sum(model, SharedGate));
  } else if (family == "opt") {
    TANGRAM_RETURN_IF_ERROR(AddOptParts(text, model, parts));
  }
  if (root.Find("text_config").has_value()) {
    parts.push_back({"all but the language model (text_config)"});
  }
  if (const auto field = text.Find("num_nextn_predict_layers")) {
    TANGRAM_ASSIGN_OR_RETURN(const int layers,
                             field->AsInt(0, kMaxTransformerLayers));
    if (layers > 0) {
      parts.push_back(
          {"multi-token prediction modules, which published totals "
           "do not count either"});
    }
  }
  return parts;
}

}  // namespace tangram
