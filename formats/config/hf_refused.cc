#include "formats/config/hf_refused.h"

#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

constexpr char kEncoder[] =
    "attention that looks ahead, and encoders, are not modelled";
constexpr char kStateSpace[] =
    "Mamba layers of a family that says otherwise which layers are of Mamba "
    "are not modelled";
constexpr char kParallelMamba[] =
    "layers with attention and Mamba side by side are not modelled";
constexpr char kSharedLayers[] =
    "layers that share weights with others are not modelled";
constexpr char kRecurrent[] = "recurrent layers are not modelled";
constexpr char kCross[] = "layers with cross-attention are not modelled";
constexpr char kWideResidual[] =
    "a residual stream of several copies (hyper-connections) is not modelled";
constexpr char kPerLayer[] =
    "embeddings of each layer, and layers that share keys and values, are not "
    "modelled";
constexpr char kDiffusion[] = "a diffusion model is not a language model";
constexpr char kNoAttention[] =
    "layers without attention or without an MLP are not modelled";
constexpr char kDraft[] =
    "a draft model, which reads the states of another model, is not modelled";
constexpr char kLinearAttention[] =
    "linear attention of this kind is not modelled";
constexpr char kLatentExperts[] =
    "experts of another width than the layer, in a family that is not known "
    "to have them, are not modelled";

// Types of models, and those that begin with a name that ends in '*'.
constexpr struct {
  absl::string_view type;
  const char* reason;
  absl::string_view nearest;
} kRefusedTypes[] = {
    {"albert", kEncoder, "gpt2"},
    {"bart", kEncoder, "opt"},
    {"bert*", kEncoder, "gpt2"},
    {"deberta*", kEncoder, "gpt2"},
    {"deci", kNoAttention, "llama"},
    {"deepseek_ref", kWideResidual, "deepseek_v3"},
    {"deepseek_v4*", kWideResidual, "deepseek_v3"},
    {"delta_net", kLinearAttention, "llama"},
    {"distilbert", kEncoder, "gpt2"},
    {"electra", kEncoder, "gpt2"},
    {"falcon_h1", kParallelMamba, "bamba"},
    {"flux", kDiffusion, ""},
    {"gated_deltanet", kLinearAttention, "llama"},
    {"gemma3n*", kPerLayer, "gemma3_text"},
    {"gla", kLinearAttention, "llama"},
    {"gsa", kLinearAttention, "llama"},
    {"hgrn*", kLinearAttention, "llama"},
    {"kimi_linear", kRecurrent, "deepseek_v3"},
    {"lfm2*", "convolution layers are not modelled", "llama"},
    {"longcat*", "layers with two attentions are not modelled", "deepseek_v3"},
    {"ltx*", kDiffusion, ""},
    {"marian", kEncoder, "opt"},
    {"mbart", kEncoder, "opt"},
    {"minimax", kRecurrent, "mixtral"},
    {"minimax_text_01", kRecurrent, "mixtral"},
    {"mllama*", kCross, "llama"},
    {"modernbert", kEncoder, "gpt2"},
    {"mt5", kEncoder, "llama"},
    {"nemotron-nas", kNoAttention, "llama"},
    {"pegasus", kEncoder, "opt"},
    {"plamo2", kStateSpace, "bamba"},
    {"recurrent_gemma", kRecurrent, "gemma"},
    {"retnet", kLinearAttention, "llama"},
    {"roberta", kEncoder, "gpt2"},
    {"rwkv*", kRecurrent, "llama"},
    {"samba", kStateSpace, "bamba"},
    {"t5*", kEncoder, "llama"},
    {"umt5", kEncoder, "llama"},
    {"wan", kDiffusion, ""},
    {"whisper", kEncoder, "gpt2"},
    {"xlm-roberta*", kEncoder, "gpt2"},
    {"xlnet", kEncoder, "gpt2"},
    {"zamba*", kSharedLayers, "bamba"},
};

// Fields that betray such layers whatever the type. A field counts unless it is
// null, false or 0.
constexpr struct {
  absl::string_view field;
  const char* reason;
  absl::string_view nearest;
} kRefusedFields[] = {
    {"_class_name", kDiffusion, ""},
    {"altup_num_inputs", kPerLayer, "gemma3_text"},
    {"attn_layer_period", kStateSpace, "jamba"},
    {"block_configs", kNoAttention, "llama"},
    {"cross_attention_layers", kCross, "llama"},
    {"hc_mult", kWideResidual, "deepseek_v3"},
    {"hidden_size_per_layer_input", kPerLayer, "gemma3_text"},
    {"hybrid_override_pattern", kStateSpace, "nemotron_h"},
    {"is_encoder_decoder", kEncoder, "opt"},
    {"kda_layers", kRecurrent, "deepseek_v3"},
    {"linear_attn_config", kRecurrent, "deepseek_v3"},
    {"mamba_d_state", kStateSpace, "bamba"},
    {"mamba_num_heads", kStateSpace, "nemotron_h"},
    {"moe_latent_size", kLatentExperts, "nemotron_h"},
    {"num_kv_shared_layers", kPerLayer, "gemma3_text"},
    {"routed_expert_hidden_size", kLatentExperts, "nemotron_h"},
    {"ssm_state_size", kStateSpace, "nemotron_h"},
    {"use_double_wide_mlp", kPerLayer, "gemma3_text"},
};

// Words in the classes of models that guess ahead for another model. Their
// model_type is that of a plain decoder.
constexpr absl::string_view kDraftWords[] = {"Draft", "Eagle", "EAGLE",
                                             "Medusa", "Speculator"};

bool Matches(absl::string_view pattern, absl::string_view type) {
  return absl::EndsWith(pattern, "*")
             ? absl::StartsWith(type, pattern.substr(0, pattern.size() - 1))
             : type == pattern;
}

// Whether the family says of such layers how they are read.
bool Reads(const HfFamily* family, const char* reason,
           absl::string_view field) {
  if (family == nullptr) return false;
  if (reason == kStateSpace) return family->hybrid != HybridRule::kNone;
  return family->latent_experts && field == "moe_latent_size";
}

bool IsSet(const ConfigField& field) {
  const absl::StatusOr<std::string> text = field.AsText();
  return !text.ok() || (*text != "false" && *text != "False" && *text != "0");
}

}  // namespace

absl::Status RefuseHf(const ConfigField& text, absl::string_view reason,
                      absl::string_view nearest) {
  std::string what = absl::StrCat("a model that can be planned; ", reason);
  if (!nearest.empty()) {
    absl::StrAppend(&what, ". The nearest family is ", nearest,
                    ": `tangram import model` of one of its files makes a "
                    "model file to change (docs/model-file.md)");
  }
  const std::optional<ConfigField> field = text.Find("model_type");
  const absl::Status error = field.has_value()
                                 ? field->Error(what)
                                 : text.MissingError("model_type", what);
  return absl::UnimplementedError(error.message());
}

absl::Status CheckHfClasses(const ConfigField& text,
                            const std::vector<std::string>& classes,
                            absl::string_view family) {
  for (const std::string& name : classes) {
    for (const absl::string_view word : kDraftWords) {
      if (absl::StrContains(name, word)) {
        return RefuseHf(text, absl::StrCat(name, ": ", kDraft), family);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckHfModelled(const ConfigField& text, const ConfigField& file,
                             absl::string_view type, const HfFamily* family) {
  for (const auto& refused : kRefusedTypes) {
    if (Matches(refused.type, type)) {
      return RefuseHf(text, refused.reason, refused.nearest);
    }
  }
  for (const ConfigField* root : {&text, &file}) {
    for (const auto& refused : kRefusedFields) {
      if (Reads(family, refused.reason, refused.field)) continue;
      const std::optional<ConfigField> field = root->Find(refused.field);
      if (field.has_value() && IsSet(*field)) {
        return RefuseHf(*root, refused.reason, refused.nearest);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace tangram
