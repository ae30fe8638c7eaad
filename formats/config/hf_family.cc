#include "formats/config/hf_family.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "formats/config/hf_names.h"
#include "formats/config/hf_refused.h"

namespace tangram {
namespace {

const HfFamily* FamilyNamed(absl::string_view model_type) {
  for (const HfAlias& alias : HfAliases()) {
    if (alias.model_type == model_type) model_type = alias.family;
  }
  for (const HfFamily& family : HfFamilies()) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

// Returns a name without what differs between a model_type and the class that
// is named after it: case, underscores, and the class's purpose.
std::string Stem(absl::string_view name) {
  for (const absl::string_view purpose :
       {"ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "Model",
        "_text"}) {
    if (absl::ConsumeSuffix(&name, purpose)) break;
  }
  return absl::StrReplaceAll(absl::AsciiStrToLower(name),
                             {{"_", ""}, {"-", ""}});
}

// Returns the family whose name is that of a class: "Qwen3MoeForCausalLM".
const HfFamily* FamilyOfClass(absl::string_view architecture) {
  const std::string stem = Stem(architecture);
  for (const HfAlias& alias : HfAliases()) {
    if (Stem(alias.model_type) == stem) return FamilyNamed(alias.family);
  }
  for (const HfFamily& family : HfFamilies()) {
    if (Stem(family.model_type) == stem) return &family;
  }
  return nullptr;
}

std::vector<std::string> Architectures(const ConfigField& root) {
  std::vector<std::string> names;
  const std::optional<ConfigField> field = root.Find("architectures");
  if (!field.has_value()) return names;
  const auto elements = field->Elements();
  if (!elements.ok()) return names;
  for (const ConfigField& element : *elements) {
    if (const auto name = element.AsText(); name.ok()) names.push_back(*name);
  }
  return names;
}

std::string ModelType(const ConfigField& root) {
  const std::optional<ConfigField> field = root.Find("model_type");
  if (!field.has_value()) return "";
  return field->AsText().value_or("");
}

// All fields that decide what a plain decoder computes. A file of an unknown
// type with any other field may be of another structure.
constexpr absl::string_view kPlainFields[] = {"_attn_implementation",
                                              "_name_or_path",
                                              "add_cross_attention",
                                              "architectures",
                                              "attention_bias",
                                              "attention_dropout",
                                              "attn_implementation",
                                              "auto_map",
                                              "bos_token_id",
                                              "dtype",
                                              "eos_token_id",
                                              "first_k_dense_replace",
                                              "decoder_sparse_step",
                                              "head_dim",
                                              "hidden_act",
                                              "hidden_size",
                                              "initializer_range",
                                              "intermediate_size",
                                              "layer_types",
                                              "max_position_embeddings",
                                              "max_window_layers",
                                              "mlp_bias",
                                              "mlp_only_layers",
                                              "model_type",
                                              "moe_intermediate_size",
                                              "moe_layer_freq",
                                              "n_group",
                                              "n_routed_experts",
                                              "n_shared_experts",
                                              "norm_topk_prob",
                                              "num_attention_heads",
                                              "num_experts",
                                              "num_experts_per_tok",
                                              "num_hidden_layers",
                                              "num_key_value_heads",
                                              "num_local_experts",
                                              "output_router_logits",
                                              "pad_token_id",
                                              "pretraining_tp",
                                              "quantization_config",
                                              "rms_norm_eps",
                                              "rope_parameters",
                                              "rope_scaling",
                                              "rope_theta",
                                              "routed_scaling_factor",
                                              "router_aux_loss_coef",
                                              "router_jitter_noise",
                                              "scoring_func",
                                              "shared_expert_intermediate_size",
                                              "sliding_window",
                                              "tie_word_embeddings",
                                              "tokenizer_class",
                                              "topk_group",
                                              "topk_method",
                                              "torch_dtype",
                                              "transformers_version",
                                              "unk_token_id",
                                              "use_cache",
                                              "use_qk_norm",
                                              "use_sliding_window",
                                              "vocab_size"};

// Returns the first field that a plain decoder does not have, or what such a
// decoder lacks. Empty if the file describes one.
std::string ReasonNotPlain(const ConfigField& root) {
  for (const std::string& key : root.Keys()) {
    // Such a field says where the file is from.
    if (absl::StartsWith(key, "_")) continue;
    if (!absl::c_linear_search(kPlainFields, key)) {
      return absl::StrCat("its field ", key, " is unknown");
    }
  }
  for (const absl::string_view key :
       {"hidden_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "rms_norm_eps", "vocab_size", "hidden_act"}) {
    if (!root.Find(key).has_value()) return absl::StrCat("it has no ", key);
  }
  const std::string act = root.Find("hidden_act")->AsText().value_or("");
  if (act != "silu" && act != "swiglu") {
    return absl::StrCat("nothing says whether its MLP, with ", act,
                        ", is gated");
  }
  return "";
}

// Returns the family that the fields of an unknown type resemble most.
absl::string_view NearestFamily(const ConfigField& root) {
  const auto has = [&](HfNames names) {
    return FindAnyOf(root, names).has_value();
  };
  if (has({"kv_lora_rank"})) return "deepseek_v3";
  if (has({"n_routed_experts"})) return "glm4_moe";
  if (has({"num_local_experts"})) return "mixtral";
  if (has({"num_experts", "moe_num_experts"})) return "qwen3_moe";
  if (has({"rms_norm_eps"})) return "llama";
  return has({"n_embd", "n_head"}) ? "gpt2" : "gpt_neox";
}

// Sets the flags that have a field in the file.
absl::Status ReadFamilyFlags(const ConfigField& root, HfFamily& family) {
  const auto set = [&](bool& flag, HfNames names) -> absl::Status {
    TANGRAM_ASSIGN_OR_RETURN(flag, ReadAnyFlag(root, names, flag));
    return absl::OkStatus();
  };
  bool attention_bias = false;
  bool bias = false;
  TANGRAM_RETURN_IF_ERROR(set(attention_bias, {"attention_bias"}));
  TANGRAM_RETURN_IF_ERROR(set(bias, {"bias"}));
  TANGRAM_RETURN_IF_ERROR(
      set(family.qkv_bias, {"qkv_bias", "use_qkv_bias", "add_qkv_bias"}));
  TANGRAM_RETURN_IF_ERROR(
      set(family.linear_bias, {"use_bias", "add_bias_linear"}));
  TANGRAM_RETURN_IF_ERROR(set(family.mlp_bias, {"mlp_bias"}));
  TANGRAM_RETURN_IF_ERROR(set(family.output_bias, {"attention_out_bias"}));
  TANGRAM_RETURN_IF_ERROR(set(family.head_bias, {"lm_head_bias"}));
  TANGRAM_RETURN_IF_ERROR(set(family.multi_query, {"multi_query"}));
  TANGRAM_RETURN_IF_ERROR(
      set(family.output_gate, {"attn_output_gate", "attention_output_gate"}));
  TANGRAM_RETURN_IF_ERROR(
      set(family.routing_bias, {"use_routing_bias", "use_moe_router_bias"}));
  if (family.bias_is_linear) {
    family.linear_bias = family.linear_bias || bias;
  } else if (bias) {
    attention_bias = family.bias_on_output = true;
  }
  if (attention_bias && !family.linear_bias) {
    family.qkv_bias = true;
    family.output_bias = family.output_bias || family.bias_on_output;
  }
  bool qk_norm = family.qk_norm != QkNorm::kNone;
  TANGRAM_RETURN_IF_ERROR(set(qk_norm, {"use_qk_norm", "qk_layernorm"}));
  if (!qk_norm) family.qk_norm = QkNorm::kNone;
  if (qk_norm && family.qk_norm == QkNorm::kNone) {
    // Cohere and StableLM have weights for each head of their own.
    family.qk_norm = family.model_type == "cohere" ||
                             family.model_type == "cohere2" ||
                             family.model_type == "stablelm"
                         ? QkNorm::kWidth
                         : QkNorm::kHead;
  }
  if (root.Find("topk_method").has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string method,
                             root.Find("topk_method")->AsText());
    family.routing_bias = method == "noaux_tc";
  }
  if (family.one_norm_parallel) {
    // Falcon is parallel unless the file says otherwise. Its newer layers have
    // a norm for each branch unless the file counts one.
    bool parallel = family.model_type == "falcon";
    bool newer = false;
    TANGRAM_RETURN_IF_ERROR(
        set(parallel, {"parallel_attn", "use_parallel_residual"}));
    TANGRAM_RETURN_IF_ERROR(set(newer, {"new_decoder_architecture"}));
    TANGRAM_ASSIGN_OR_RETURN(
        const int norms,
        ReadInt(root, "num_ln_in_parallel_attn", newer ? 2 : 1, 1, 2));
    if (parallel && norms == 1) family.extra_norms = -1;
    if (newer) family.multi_query = false;
  }
  if (const auto rms = root.Find("rmsnorm")) {
    TANGRAM_ASSIGN_OR_RETURN(const bool is_rms, rms->AsBool());
    family.layer_norm = !is_rms;
  }
  return absl::OkStatus();
}

// Returns the family of that type, or else of the classes; null if there is
// none.
const HfFamily* KnownFamily(absl::string_view type,
                            const std::vector<std::string>& classes) {
  if (const HfFamily* family = FamilyNamed(type)) return family;
  for (const std::string& name : classes) {
    if (const HfFamily* family = FamilyOfClass(name)) return family;
  }
  return nullptr;
}

absl::StatusOr<HfFoundFamily> FindFamily(const ConfigField& text,
                                         const ConfigField& file) {
  const std::string type = ModelType(text);
  std::vector<std::string> classes = Architectures(text);
  const std::vector<std::string> outer = Architectures(file);
  classes.insert(classes.end(), outer.begin(), outer.end());
  const HfFamily* const known = KnownFamily(type, classes);
  TANGRAM_RETURN_IF_ERROR(
      CheckHfClasses(text, classes, known == nullptr ? "" : known->model_type));
  TANGRAM_RETURN_IF_ERROR(CheckHfModelled(text, file, type, known));
  if (known != nullptr) return {{*known, ""}};
  const absl::string_view nearest = NearestFamily(text);
  const std::string reason = ReasonNotPlain(text);
  if (!reason.empty()) return RefuseHf(text, reason, nearest);
  HfFamily family = *FamilyNamed(nearest);
  return {
      {family, absl::StrCat("the model type ", type,
                            " is unknown; its fields are those of ", nearest)}};
}

}  // namespace

absl::StatusOr<HfFoundFamily> ReadHfFamily(const ConfigField& text,
                                           const ConfigField& file) {
  TANGRAM_ASSIGN_OR_RETURN(HfFoundFamily found, FindFamily(text, file));
  TANGRAM_RETURN_IF_ERROR(ReadFamilyFlags(text, found.family));
  return found;
}

}  // namespace tangram
