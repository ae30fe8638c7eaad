#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/validation/run_parts.h"
#include "cli/validation/text_match.h"
#include "common/base/field_error.h"
#include "formats/catalogue/assemble_model.h"
#include "formats/catalogue/models.h"

namespace tangram {
namespace {

// The GPT-2 vocabulary of 50,257, padded as Megatron-LM pads it for tp up to 8.
constexpr int kPaddedGptVocabulary = 51200;

bool IsOfLlamaFamily(const MeasuredRun& run) {
  for (const absl::string_view family :
       {"llama", "mistral", "mixtral", "qwen", "deepseek", "internlm"}) {
    if (Mentions(run.model, family)) return true;
  }
  return Mentions(run.framework, "internevo") || Mentions(run.notes, "swiglu");
}

// Returns whether the model uses rotary positions and has no biases. Its family
// tells, or that heads share keys and values: such models have the rest too.
bool IsLlamaLike(const MeasuredRun& run) {
  const bool shares_heads =
      run.num_kv_heads > 0 && run.num_kv_heads < run.num_heads;
  return shares_heads || IsOfLlamaFamily(run);
}

// Returns whether the MLP is gated. Outside the families that gate it, a stated
// width of 4 h tells that it is not: Nemotron-4 and Falcon share heads without
// gates, and gated MLPs of as many parameters are narrower.
bool HasGatedMlp(const MeasuredRun& run) {
  if (IsOfLlamaFamily(run)) return true;
  return IsLlamaLike(run) && !Mentions(run.model, "nemotron") &&
         run.ffn_hidden_size != 4 * run.hidden_size;
}

bool IsDecoder(absl::string_view model) {
  const std::string name = absl::AsciiStrToLower(model);
  return !absl::StrContains(name, "bert") && !absl::StrContains(name, "gan") &&
         !absl::StartsWith(name, "t5") && !absl::StartsWith(name, "vit");
}

// Returns the catalogue's spelling of a public model that the row names without
// its dimensions: "LLAMA3.1_405B" and "Llama 3 405B" become "llama3-405b".
std::string CatalogueName(absl::string_view model) {
  std::string name = absl::AsciiStrToLower(model.substr(0, model.find(" (")));
  name = absl::StrReplaceAll(name, {{"_", "-"}, {" ", "-"}});
  name = absl::StrReplaceAll(name, {{"gpt-3", "gpt3"},
                                    {"llama-3.1", "llama3"},
                                    {"llama3.1", "llama3"},
                                    {"llama-3", "llama3"},
                                    {"llama-2", "llama2"},
                                    {"gptoss", "gpt-oss"},
                                    {"nemotron-", "nemotron4-"},
                                    {"deepseekv3", "deepseek-v3"}});
  return name;
}

absl::StatusOr<ModelSpec> ModelByName(const MeasuredRun& run) {
  absl::StatusOr<ModelSpec> model = BuiltinModel(CatalogueName(run.model));
  if (model.ok()) return model;
  return absl::UnimplementedError(absl::StrCat(
      "model: ", run.model, "; dimensions not given and not a built-in model"));
}

int HeadsOf(const MeasuredRun& run) {
  if (run.num_heads > 0) return run.num_heads;
  // As in all sizes of GPT-2.
  constexpr int kUsualHeadDim = 64;
  return std::max(1, run.hidden_size / kUsualHeadDim);
}

LayerSpec DenseLayer(const MeasuredRun& run) {
  const int heads = HeadsOf(run);
  const int head_dim = run.hidden_size / heads;
  const bool llama = IsLlamaLike(run);
  return {.kind = LayerKind::kTransformer,
          .hidden_size = run.hidden_size,
          .num_heads = heads,
          .num_kv_heads = run.num_kv_heads > 0 ? run.num_kv_heads : heads,
          .head_dim = head_dim,
          .value_head_dim = head_dim,
          .ffn_hidden_size = run.ffn_hidden_size > 0 ? run.ffn_hidden_size
                                                     : 4 * run.hidden_size,
          .gated_mlp = HasGatedMlp(run),
          .linear_bias = !llama,
          .norm_bias = !llama};
}

absl::StatusOr<LayerSpec> LayerOf(const MeasuredRun& run) {
  LayerSpec layer = DenseLayer(run);
  if (run.num_experts <= 1) return layer;
  if (run.ffn_hidden_size == 0 || run.experts_per_token == 0) {
    return absl::UnimplementedError(
        "experts: the row does not state their width or the number a token");
  }
  layer.num_experts = run.num_experts;
  layer.experts_per_token = run.experts_per_token;
  layer.expert_ffn_hidden_size = run.ffn_hidden_size;
  layer.ffn_hidden_size = 0;
  return layer;
}

}  // namespace

absl::StatusOr<ModelSpec> ModelOfRun(const MeasuredRun& run) {
  if (run.num_layers == 0 || run.hidden_size == 0) return ModelByName(run);
  if (!IsDecoder(run.model)) {
    return absl::UnimplementedError(
        absl::StrCat("model: ", run.model, "; not a decoder-only model"));
  }
  // The columns cannot describe public mixtures of experts in full.
  if (run.num_experts > 1) {
    absl::StatusOr<ModelSpec> known = ModelByName(run);
    if (known.ok() && known->num_layers() == run.num_layers + 2) return known;
  }
  if (run.hidden_size % HeadsOf(run) != 0) {
    return FieldError("heads", run.num_heads,
                      absl::StrCat("a divisor of ", run.hidden_size));
  }
  absl::StatusOr<LayerSpec> layer = LayerOf(run);
  if (!layer.ok()) return layer.status();
  const bool llama = IsLlamaLike(run);
  const Vocabulary vocabulary{
      .size = run.vocab_size > 0 ? run.vocab_size : kPaddedGptVocabulary,
      .max_position_embeddings = llama ? 0 : run.sequence_length,
      .tied = !llama};
  return AssembleModel(run.model, vocabulary,
                       std::vector<LayerSpec>(run.num_layers, *layer));
}

}  // namespace tangram
