#include "frameworks/galvatron_runtime.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "frameworks/import_parts.h"
#include "frameworks/megatron_options.h"
#include "frameworks/read_training_options.h"
#include "frameworks/settings.h"

namespace tangram {
namespace {

// Settings of the sections parallel, model and train that change neither time
// nor memory, or that the strategy replaces. "name*": all that begin so.
constexpr char kGalvatronWithoutEffect[] = R"(
pp_deg global_* sdp galvatron_config_path vocab_* set_* initialize_on_meta
print_loss model_size layernorm_epsilon norm_epsilon rotary_* mrope_section
make_vocab_size_divisible_by padded_vocab_size activation_func init_method_std
moe_router_* calculate_per_token_loss seed iteration train_iters train_samples
consumed_* eval_* skip_train do_* dataloader_type num_workers data_sharding lr
lr_* min_lr weight_decay* start_weight_decay end_weight_decay adam_*
use_checkpoint_opt_param_scheduler override_opt_param_scheduler
global_batch_size micro_batch_size chunks clip_grad flash_decode test_mode
params_dtype dropout_prob
)";

bool IsWithoutEffect(absl::string_view path) {
  const absl::string_view name = path.substr(path.rfind('.') + 1);
  for (absl::string_view known :
       absl::StrSplit(kGalvatronWithoutEffect, absl::ByAnyChar(" \n"),
                      absl::SkipEmpty())) {
    if (known == name ||
        (absl::ConsumeSuffix(&known, "*") && absl::StartsWith(name, known))) {
      return true;
    }
  }
  return false;
}

// Compares the section with the model. Settings that it lacks come from a file
// of Galvatron's if it names one, and otherwise have defaults.
class ModelSection {
 public:
  ModelSection(const ModelSpec& model,
               const std::vector<MegatronOption>& expected, Settings& section)
      : layer_(model.layers[1]),
        owner_(absl::StrCat("the model ", model.name)),
        section_(section) {
    for (const MegatronOption& option : expected) {
      expected_[option.name] = option.value;
    }
  }

  absl::Status Check(std::vector<std::string>& notes) {
    for (const char* other : {"hf_model_name_or_path", "model_config_path"}) {
      const std::optional<ConfigField> field = section_.Find(other);
      if (!field.has_value()) continue;
      has_defaults_ = false;
      notes.push_back(
          absl::StrCat(field->path(), ": not read; ", owner_, " is assumed"));
    }
    has_defaults_ = has_defaults_ && section_.Find("num_layers").has_value();
    for (const char* name :
         {"num_layers", "hidden_size", "num_attention_heads", "vocab_size"}) {
      TANGRAM_RETURN_IF_ERROR(Int(name, name, std::nullopt));
    }
    if (!layer_.is_moe()) {
      TANGRAM_RETURN_IF_ERROR(
          Int("ffn_hidden_size", "ffn_hidden_size", std::nullopt));
    } else {
      section_.Find("ffn_hidden_size");
    }
    TANGRAM_RETURN_IF_ERROR(Int("kv_channels", "kv_channels",
                                layer_.hidden_size / layer_.num_heads));
    TANGRAM_RETURN_IF_ERROR(section_.CheckInt("num_query_groups",
                                              Default(layer_.num_heads),
                                              layer_.num_kv_heads, owner_));
    TANGRAM_RETURN_IF_ERROR(CheckExperts());
    return CheckKinds();
  }

 private:
  std::optional<int> Default(std::optional<int> value) const {
    return has_defaults_ ? value : std::nullopt;
  }

  absl::Status Int(absl::string_view key, absl::string_view option,
                   std::optional<int> fallback) {
    int expected = fallback.value_or(0);
    const auto found = expected_.find(option);
    if (found != expected_.end() &&
        !absl::SimpleAtoi(found->second, &expected)) {
      return absl::OkStatus();
    }
    return section_.CheckInt(key, Default(fallback), expected, owner_);
  }

  absl::Status Flag(absl::string_view key, bool fallback, bool expected) {
    return section_.CheckBool(key, has_defaults_ ? fallback : expected,
                              expected, owner_);
  }

  absl::Status CheckExperts() {
    TANGRAM_RETURN_IF_ERROR(Flag("is_moe_model", false, layer_.is_moe()));
    TANGRAM_RETURN_IF_ERROR(Int("num_moe_experts", "num_experts", 0));
    if (!layer_.is_moe()) return absl::OkStatus();
    TANGRAM_RETURN_IF_ERROR(Int("moe_router_topk", "moe_router_topk", 2));
    TANGRAM_RETURN_IF_ERROR(
        Int("moe_ffn_hidden_size", "moe_ffn_hidden_size", std::nullopt));
    section_.Find("moe_grouped_gemm");
    section_.Find("moe_token_dispatcher_type");
    return Int("moe_shared_expert_intermediate_size",
               "moe_shared_expert_intermediate_size", 0);
  }

  absl::Status Name(absl::string_view key, absl::string_view fallback) {
    const std::optional<ConfigField> field = section_.Find(key);
    std::string name(has_defaults_ ? fallback : expected_[std::string(key)]);
    if (field.has_value()) {
      TANGRAM_ASSIGN_OR_RETURN(name, field->AsText());
    }
    const std::string& expected = expected_[std::string(key)];
    if (name == expected) return absl::OkStatus();
    const std::string wanted = absl::StrCat(expected, ", as in ", owner_);
    return field.has_value() ? field->Error(wanted)
                             : section_.Require(key, wanted).status();
  }

  absl::Status CheckKinds() {
    TANGRAM_RETURN_IF_ERROR(Flag("gated_linear_unit", true, layer_.gated_mlp));
    section_.Find("swiglu");
    TANGRAM_RETURN_IF_ERROR(Flag("add_bias_linear", false, layer_.linear_bias));
    if (!layer_.linear_bias) {
      TANGRAM_RETURN_IF_ERROR(Flag("add_qkv_bias", false, layer_.qkv_bias));
    }
    TANGRAM_RETURN_IF_ERROR(Flag("qk_layernorm", false, layer_.qk_norm));
    TANGRAM_RETURN_IF_ERROR(Flag("multi_latent_attention", false, false));
    TANGRAM_RETURN_IF_ERROR(
        Flag("untie_embeddings_and_output_weights", true,
             expected_.contains("untie_embeddings_and_output_weights")));
    TANGRAM_RETURN_IF_ERROR(Name("normalization", "RMSNorm"));
    return Name("position_embedding_type", "rope");
  }

  const LayerSpec& layer_;
  const std::string owner_;
  Settings& section_;
  std::map<std::string, std::string, std::less<>> expected_;
  bool has_defaults_ = true;
};

absl::Status CheckPrecision(Settings& parallel, Precision known) {
  const std::optional<ConfigField> field = parallel.Find("mixed_precision");
  std::string name = "bf16";
  if (field.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(name, field->AsText());
  }
  if (name == PrecisionName(known)) return absl::OkStatus();
  const std::string expected =
      absl::StrCat(PrecisionName(known),
                   ", the precision that the plan is imported for, instead of ",
                   "Galvatron's default, bf16");
  if (!field.has_value()) {
    return parallel.Require("mixed_precision", expected).status();
  }
  return field->Error(absl::StrCat(
      PrecisionName(known), ", the precision that the plan is imported for"));
}

absl::Status ReadDropout(Settings& model, TrainingOptions& training) {
  training.dropout = false;
  for (const char* name : {"attention_dropout", "hidden_dropout"}) {
    const std::optional<ConfigField> field = model.Find(name);
    if (!field.has_value()) continue;
    TANGRAM_ASSIGN_OR_RETURN(const double rate, field->AsNumber(0, 1));
    training.dropout |= rate > 0;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadName(Settings& section, absl::string_view key,
                                     std::string fallback) {
  const std::optional<ConfigField> field = section.Find(key);
  return field.has_value() ? field->AsName()
                           : absl::StatusOr<std::string>(std::move(fallback));
}

// Reads the sections, which exist.
absl::Status ReadSections(const ImportRequest& request, Settings& parallel,
                          Settings& model, Settings& train,
                          GalvatronRuntime& runtime,
                          std::vector<std::string>& notes) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<MegatronOption> expected,
                           MegatronModelOptions(request.model));
  TANGRAM_RETURN_IF_ERROR(
      ModelSection(request.model, expected, model).Check(notes));
  TrainingOptions& training = runtime.training;
  TANGRAM_RETURN_IF_ERROR(CheckPrecision(parallel, training.precision));
  TANGRAM_ASSIGN_OR_RETURN(training.fp32_gradients,
                           parallel.Bool("reduce_in_fp32", false));
  TANGRAM_ASSIGN_OR_RETURN(
      runtime.pipeline_type,
      ReadName(parallel, "pipeline_type", runtime.pipeline_type));
  TANGRAM_ASSIGN_OR_RETURN(
      runtime.default_dp_type,
      ReadName(parallel, "default_dp_type", runtime.default_dp_type));
  TANGRAM_RETURN_IF_ERROR(ReadDropout(model, training));
  TANGRAM_ASSIGN_OR_RETURN(runtime.sequence_parallel,
                           train.Bool("sequence_parallel", true));
  TANGRAM_ASSIGN_OR_RETURN(training.flash_attention,
                           train.Bool("use_flash_attn", true));
  if (const std::optional<ConfigField> field = train.Find("seq_length")) {
    TANGRAM_ASSIGN_OR_RETURN(training.sequence_length,
                             field->AsInt(1, kMaxNumber));
    TANGRAM_RETURN_IF_ERROR(CheckSequenceLength(
        training.sequence_length, request.training.sequence_length,
        [&](absl::string_view expected_length) {
          return field->Error(expected_length);
        }));
  }
  if (const std::optional<ConfigField> ramp = train.Find("rampup_batch_size")) {
    TANGRAM_RETURN_IF_ERROR(ramp->Elements().status());
    notes.push_back(
        absl::StrCat(ramp->path(),
                     ": the batch grows; the plan is for the batch at its "
                     "end"));
  }
  return absl::OkStatus();
}

void NoteUnread(const std::vector<const Settings*>& sections,
                std::vector<std::string>& notes) {
  std::vector<std::string> unread;
  std::vector<std::string> without_effect;
  for (const Settings* section : sections) {
    for (std::string& path : section->Unread()) {
      (IsWithoutEffect(path) ? without_effect : unread)
          .push_back(std::move(path));
    }
  }
  NoteNames("not read, though it may change time or memory:", unread, notes);
  NoteNames("without effect on time and memory:", without_effect, notes);
}

absl::StatusOr<GalvatronRuntime> ReadFile(const ImportRequest& request,
                                          const FrameworkFile& file,
                                          std::vector<std::string>& notes) {
  GalvatronRuntime runtime{.training = request.training};
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(file.content, file.name));
  const ConfigField root(value, file.name);
  TANGRAM_RETURN_IF_ERROR(root.CheckMapping());
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField all,
                           root.Require("runtime", "Galvatron's settings"));
  TANGRAM_RETURN_IF_ERROR(all.CheckMapping());
  // A section that is not given is an empty one.
  const ConfigValue nothing{.kind = ConfigValue::Kind::kMapping};
  std::vector<Settings> sections;
  for (const char* name : {"parallel", "model", "train"}) {
    const std::optional<ConfigField> section = all.Find(name);
    if (section.has_value()) {
      TANGRAM_RETURN_IF_ERROR(section->CheckMapping());
    }
    sections.emplace_back(section.value_or(ConfigField(nothing, file.name)));
  }
  TANGRAM_RETURN_IF_ERROR(ReadSections(request, sections[0], sections[1],
                                       sections[2], runtime, notes));
  NoteUnread({&sections[0], &sections[1], &sections[2]}, notes);
  NoteChangedTraining(request.training, runtime.training, notes);
  return runtime;
}

}  // namespace

absl::StatusOr<GalvatronRuntime> ReadGalvatronRuntime(
    const ImportRequest& request, std::vector<std::string>& notes) {
  for (const FrameworkFile& file : request.files) {
    if (IsNamed(file, "runtime.yaml")) return ReadFile(request, file, notes);
  }
  notes.push_back(
      "no runtime.yaml: its defaults are assumed, sequence parallelism and "
      "GPipe among them");
  return GalvatronRuntime{.training = request.training};
}

}  // namespace tangram
