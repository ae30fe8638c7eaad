#include "frameworks/check_model_options.h"

#include <map>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "frameworks/layer_pattern.h"
#include "frameworks/megatron_options.h"

namespace tangram {
namespace {

// Compares options with those that an export of the model has.
class ModelCheck {
 public:
  ModelCheck(LaunchArguments& arguments, const ModelSpec& model,
             const std::vector<MegatronOption>& expected)
      : arguments_(arguments),
        model_(model),
        layer_(*absl::c_find_if(model.layers, IsTransformer)) {
    for (const MegatronOption& option : expected) {
      expected_[absl::StrReplaceAll(option.name, {{"_", "-"}})] = option.value;
    }
  }

  absl::Status Check(std::vector<std::string>& notes) {
    for (const char* required :
         {"num-layers", "hidden-size", "num-attention-heads"}) {
      TANGRAM_RETURN_IF_ERROR(CheckInt(required, std::nullopt));
    }
    TANGRAM_RETURN_IF_ERROR(CheckMlp());
    TANGRAM_RETURN_IF_ERROR(CheckAttention());
    TANGRAM_RETURN_IF_ERROR(CheckFlags());
    TANGRAM_RETURN_IF_ERROR(CheckExperts());
    TANGRAM_RETURN_IF_ERROR(CheckPositions());
    TANGRAM_RETURN_IF_ERROR(CheckWindows());
    return CheckVocabulary(notes);
  }

 private:
  static bool IsTransformer(const LayerSpec& layer) {
    return layer.kind == LayerKind::kTransformer;
  }
  bool Expects(absl::string_view name) const {
    return expected_.find(name) != expected_.end();
  }

  absl::Status Differs(absl::string_view name,
                       const absl::AlphaNum& expected) const {
    return arguments_.Error(
        name, absl::StrCat(expected, ", as in the model ", model_.name));
  }

  // Compares a number. Without the option it is `fallback`, as is the model's
  // if its export has no such option.
  absl::Status CheckInt(absl::string_view name, std::optional<int> fallback) {
    int expected = fallback.value_or(0);
    const auto found = expected_.find(name);
    if (found != expected_.end() &&
        !absl::SimpleAtoi(found->second, &expected)) {
      return absl::OkStatus();
    }
    if (!arguments_.Has(name) && !fallback.has_value()) {
      return Differs(name, expected);
    }
    TANGRAM_ASSIGN_OR_RETURN(const int value,
                             arguments_.Int(name, fallback, /*min=*/0));
    return value == expected ? absl::OkStatus() : Differs(name, expected);
  }

  absl::Status CheckFlag(absl::string_view name, bool given, bool expected) {
    if (given == expected) return absl::OkStatus();
    return Differs(name, expected ? "this flag" : "no such flag");
  }

  absl::Status CheckMlp() {
    const bool gated =
        arguments_.Has("swiglu") || arguments_.Has("quick-geglu");
    TANGRAM_RETURN_IF_ERROR(CheckFlag("swiglu", gated, layer_.gated_mlp));
    const bool any_dense =
        absl::c_any_of(model_.layers, [](const LayerSpec& layer) {
          return IsTransformer(layer) && !layer.is_moe();
        });
    TANGRAM_ASSIGN_OR_RETURN(const int default_ffn, DefaultFfn());
    if (any_dense) return CheckInt("ffn-hidden-size", default_ffn);
    return arguments_.Int("ffn-hidden-size", default_ffn).status();
  }

  // Megatron-LM's default, and FlagScale's with --multiple-of.
  absl::StatusOr<int> DefaultFfn() {
    const int hidden = layer_.hidden_size;
    if (!layer_.gated_mlp) return 4 * hidden;
    const int two_thirds = static_cast<int>(int64_t{8} * hidden / 3);
    if (!arguments_.Has("multiple-of")) return two_thirds / 64 * 64;
    TANGRAM_ASSIGN_OR_RETURN(const int unit,
                             arguments_.Int("multiple-of", std::nullopt));
    TANGRAM_ASSIGN_OR_RETURN(const double factor,
                             arguments_.Number("hidden-dim-multiplier", 1));
    const int64_t size = static_cast<int64_t>(two_thirds * factor);
    return static_cast<int>((size + unit - 1) / unit * unit);
  }

  absl::Status CheckAttention() {
    const bool latent = layer_.kv_lora_rank > 0;
    TANGRAM_RETURN_IF_ERROR(CheckFlag("multi-latent-attention",
                                      arguments_.Has("multi-latent-attention"),
                                      latent));
    if (latent) {
      TANGRAM_RETURN_IF_ERROR(CheckInt("q-lora-rank", 0));
      TANGRAM_RETURN_IF_ERROR(CheckInt("kv-lora-rank", 32));
      TANGRAM_RETURN_IF_ERROR(CheckInt("qk-head-dim", 128));
      TANGRAM_RETURN_IF_ERROR(CheckInt("qk-pos-emb-head-dim", 64));
      return CheckInt("v-head-dim", 128);
    }
    TANGRAM_RETURN_IF_ERROR(
        CheckInt("kv-channels", layer_.hidden_size / layer_.num_heads));
    if (!arguments_.Has("group-query-attention")) {
      return CheckFlag("group-query-attention", false,
                       Expects("group-query-attention"));
    }
    TANGRAM_ASSIGN_OR_RETURN(const int groups,
                             arguments_.Int("num-query-groups", 1));
    return groups == layer_.num_kv_heads
               ? absl::OkStatus()
               : Differs("num-query-groups", layer_.num_kv_heads);
  }

  absl::Status CheckFlags() {
    const bool bias = !arguments_.Has("disable-bias-linear");
    TANGRAM_RETURN_IF_ERROR(
        CheckFlag("disable-bias-linear", !bias, !layer_.linear_bias));
    if (!bias) {
      TANGRAM_RETURN_IF_ERROR(CheckFlag(
          "add-qkv-bias", arguments_.Has("add-qkv-bias"), layer_.qkv_bias));
    } else {
      arguments_.Has("add-qkv-bias");  // Implied.
    }
    TANGRAM_RETURN_IF_ERROR(CheckFlag(
        "qk-layernorm",
        arguments_.Has("qk-layernorm") || arguments_.Has("qk-l2-norm"),
        layer_.qk_norm));
    TANGRAM_RETURN_IF_ERROR(
        CheckFlag("untie-embeddings-and-output-weights",
                  arguments_.Has("untie-embeddings-and-output-weights"),
                  Expects("untie-embeddings-and-output-weights")));
    TANGRAM_ASSIGN_OR_RETURN(const std::string norm,
                             arguments_.Text("normalization", "LayerNorm"));
    const std::string& expected = expected_["normalization"];
    return norm == expected ? absl::OkStatus()
                            : Differs("normalization", expected);
  }

  absl::Status CheckExperts() {
    TANGRAM_RETURN_IF_ERROR(CheckInt("num-experts", 0));
    if (!Expects("num-experts")) return absl::OkStatus();
    TANGRAM_RETURN_IF_ERROR(CheckInt("moe-router-topk", 2));
    TANGRAM_ASSIGN_OR_RETURN(const int default_ffn, DefaultFfn());
    TANGRAM_ASSIGN_OR_RETURN(const int ffn,
                             arguments_.Int("ffn-hidden-size", default_ffn));
    TANGRAM_RETURN_IF_ERROR(CheckInt("moe-ffn-hidden-size", ffn));
    TANGRAM_RETURN_IF_ERROR(CheckInt("moe-shared-expert-intermediate-size", 0));
    TANGRAM_RETURN_IF_ERROR(CheckInt("moe-latent-size", 0));
    TANGRAM_RETURN_IF_ERROR(CheckExpertCapacity());
    return CheckPattern(
        "moe-layer-freq", "1", [](int i, int every) { return i % every == 0; },
        [](const LayerSpec& layer) { return layer.is_moe(); });
  }

  // Without padding, a capacity only drops tokens, which is noted.
  absl::Status CheckExpertCapacity() {
    constexpr absl::string_view kFactor = "moe-expert-capacity-factor";
    constexpr absl::string_view kPadding = "moe-pad-expert-input-to-capacity";
    const bool pads = Expects(kPadding);
    TANGRAM_RETURN_IF_ERROR(
        CheckFlag(kPadding, arguments_.Has(kPadding), pads));
    if (!pads) return absl::OkStatus();
    const std::string& expected = expected_[std::string(kFactor)];
    TANGRAM_ASSIGN_OR_RETURN(const std::string text,
                             arguments_.Text(kFactor, ""));
    double factor = 0;
    double wanted = 0;
    const bool equal = absl::SimpleAtod(text, &factor) &&
                       absl::SimpleAtod(expected, &wanted) && factor == wanted;
    return equal ? absl::OkStatus() : Differs(kFactor, expected);
  }

  // Compares a pattern of layers, or the number that stands for one: `is(i,
  // number)` says whether layer i has the property.
  absl::Status CheckPattern(absl::string_view name, absl::string_view fallback,
                            absl::FunctionRef<bool(int i, int every)> is,
                            absl::FunctionRef<bool(const LayerSpec&)> has) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string text,
                             arguments_.Text(name, fallback));
    std::vector<int> expected;
    for (const LayerSpec& layer : model_.layers) {
      if (IsTransformer(layer)) expected.push_back(has(layer));
    }
    std::optional<std::vector<int>> pattern;
    int every = 0;
    if (absl::SimpleAtoi(text, &every) && every > 0) {
      pattern.emplace();
      for (size_t i = 0; i < expected.size(); ++i) {
        pattern->push_back(is(static_cast<int>(i), every));
      }
    } else {
      pattern = EvaluatePattern(text, expected.size());
    }
    if (pattern == expected) return absl::OkStatus();
    const auto wanted = expected_.find(name);
    return Differs(
        name, wanted == expected_.end() ? "no such option" : wanted->second);
  }

  absl::Status CheckPositions() {
    TANGRAM_ASSIGN_OR_RETURN(
        std::string type,
        arguments_.Text("position-embedding-type", "learned_absolute"));
    if (arguments_.Has("use-rotary-position-embeddings")) type = "rope";
    const std::string& expected = expected_["position-embedding-type"];
    const bool learned = expected != "rope";
    if (learned != (type == "learned_absolute") || type == "relative") {
      return Differs("position-embedding-type", expected);
    }
    if (learned) return CheckInt("max-position-embeddings", std::nullopt);
    TANGRAM_ASSIGN_OR_RETURN(const int sequence,
                             arguments_.Int("seq-length", 1));
    TANGRAM_ASSIGN_OR_RETURN(
        const int positions,
        arguments_.Int("max-position-embeddings", std::nullopt));
    if (positions >= sequence) return absl::OkStatus();
    return arguments_.Error(
        "max-position-embeddings",
        absl::StrCat("at least ", sequence, ", as ",
                     arguments_.Field("seq-length"), " says"));
  }

  absl::Status CheckWindows() {
    TANGRAM_ASSIGN_OR_RETURN(const std::string text,
                             arguments_.Text("window-size", ""));
    const auto found = expected_.find("window-size");
    const std::string expected = found == expected_.end() ? "" : found->second;
    const std::string sizes =
        absl::StrReplaceAll(text, {{"(", ""}, {")", ""}, {" ", ""}});
    if (sizes != expected) {
      return Differs("window-size",
                     expected.empty() ? "no such option" : expected);
    }
    if (expected.empty()) return absl::OkStatus();
    if (!arguments_.Has("window-attn-skip-freq")) {
      return CheckFlag("window-attn-skip-freq", false,
                       Expects("window-attn-skip-freq"));
    }
    return CheckPattern(
        "window-attn-skip-freq", "",
        [](int i, int every) { return (i + 1) % every != 0; },
        [](const LayerSpec& layer) { return layer.sliding_window > 0; });
  }

  // Megatron-LM pads the vocabulary, so one that becomes as large is the same.
  absl::Status CheckVocabulary(std::vector<std::string>& notes) {
    const int expected = model_.layers.front().vocab_size;
    TANGRAM_ASSIGN_OR_RETURN(
        const int divisor, arguments_.Int("make-vocab-size-divisible-by", 128));
    TANGRAM_ASSIGN_OR_RETURN(const int tp,
                             arguments_.Int("tensor-model-parallel-size", 1));
    const bool pads = !arguments_.Has("no-pad-vocab-size") &&
                      !arguments_.Has("disable-pad-vocab-size");
    const int64_t unit = pads ? int64_t{divisor} * tp : 1;
    const auto padded = [&](int size) { return (size + unit - 1) / unit; };
    bool given = false;
    for (const char* name : {"vocab-size", "padded-vocab-size"}) {
      if (!arguments_.Has(name)) continue;
      given = true;
      TANGRAM_ASSIGN_OR_RETURN(const int size,
                               arguments_.Int(name, std::nullopt));
      if (size != expected && padded(size) != padded(expected)) {
        return Differs(name, expected);
      }
    }
    if (!given) {
      notes.push_back(absl::StrCat("no ", arguments_.Field("vocab-size"),
                                   ": the tokenizer's is assumed to be the "
                                   "model's, ",
                                   expected));
    }
    return absl::OkStatus();
  }

  LaunchArguments& arguments_;
  const ModelSpec& model_;
  const LayerSpec& layer_;
  std::map<std::string, std::string, std::less<>> expected_;
};

}  // namespace

bool DescribesModel(LaunchArguments& arguments) {
  bool any = false;
  for (const char* name : {"num-layers", "hidden-size", "num-attention-heads",
                           "ffn-hidden-size"}) {
    any |= arguments.Has(name);
  }
  return any;
}

absl::Status CheckModelOptions(LaunchArguments& arguments,
                               const ModelSpec& model,
                               std::vector<std::string>& notes) {
  if (!DescribesModel(arguments)) {
    notes.push_back(
        absl::StrCat("no options of the model: ", model.name, " is assumed"));
    return absl::OkStatus();
  }
  if (model.is_hybrid()) {
    return arguments.Error("hybrid-layer-pattern",
                           absl::StrCat("a model whose layers are attention "
                                        "with an MLP or experts, not ",
                                        model.name));
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<MegatronOption> expected,
                           MegatronModelOptions(model));
  return ModelCheck(arguments, model, expected).Check(notes);
}

void ReadExpertKernels(LaunchArguments& arguments, const ModelSpec& model,
                       std::vector<std::string>& notes) {
  arguments.Has("moe-grouped-gemm");
  const std::vector<std::string> dispatcher =
      arguments.Texts("moe-token-dispatcher-type");
  if (!model.has_experts() ||
      dispatcher == std::vector<std::string>{"alltoall"})
    return;
  notes.push_back(
      absl::StrCat(arguments.Field("moe-token-dispatcher-type"), " ",
                   dispatcher.empty() ? "allgather" : dispatcher.front(),
                   " is read as alltoall"));
}

}  // namespace tangram
