#include "formats/catalogue/models.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/catalogue/assemble_model.h"

namespace tangram {
namespace {

// A built-in model. The first `first_dense` layers are `dense`. After them,
// every `moe_period`-th layer, beginning with the first, is `moe` and the
// others are `dense`. A model without experts has only dense layers.
struct BuiltinEntry {
  absl::string_view name;
  int sequence_length = 0;
  int num_layers = 0;
  LayerSpec dense;
  LayerSpec moe;
  int first_dense = 0;
  int moe_period = 1;
  Vocabulary vocabulary;
};

struct Width {
  // The sizes of an attention block; `head_dim` is per head.
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
};

constexpr LayerSpec Attention(const Width& width) {
  return {.kind = LayerKind::kTransformer,
          .hidden_size = width.hidden,
          .num_heads = width.heads,
          .num_kv_heads = width.kv_heads,
          .head_dim = width.head_dim,
          .value_head_dim = width.head_dim};
}

// GPT-3, Brown et al. 2020 (2005.14165), Tab. 2.1, as trained with Megatron-LM:
// the vocabulary of 50,257 is padded to 51,200, and head sizes are whole.
constexpr BuiltinEntry Gpt3(absl::string_view name, int num_layers, int hidden,
                            int heads) {
  LayerSpec layer = Attention({hidden, heads, heads, hidden / heads});
  layer.ffn_hidden_size = 4 * hidden;
  layer.linear_bias = true;
  layer.norm_bias = true;
  return {.name = name,
          .sequence_length = 2048,
          .num_layers = num_layers,
          .dense = layer,
          .vocabulary = {
              .size = 51200, .max_position_embeddings = 2048, .tied = true}};
}

// GShard (2006.16668) in the sizes of Alpa's benchmark
// (alpa-projects/alpa, benchmark/alpa/suite_manual_moe.py and model/moe.py):
// 16 layers of 16 heads, experts in every second layer from the first on, an
// MLP 8 times as wide as the model, top-2 routing.
constexpr BuiltinEntry GshardMoe(absl::string_view name, int hidden,
                                 int num_experts) {
  constexpr int kHeads = 16;
  LayerSpec dense = Attention({hidden, kHeads, kHeads, hidden / kHeads});
  dense.linear_bias = true;
  dense.norm_bias = true;
  LayerSpec moe = dense;
  dense.ffn_hidden_size = 8 * hidden;
  moe.num_experts = num_experts;
  moe.experts_per_token = 2;
  moe.expert_ffn_hidden_size = 8 * hidden;
  return {.name = name,
          .sequence_length = 1024,
          .num_layers = 16,
          .dense = dense,
          .moe = moe,
          .moe_period = 2,
          .vocabulary = {
              .size = 32000, .max_position_embeddings = 1024, .tied = true}};
}

// Llama 3 (2407.21783), Tab. 3.
constexpr BuiltinEntry Llama3(absl::string_view name, int num_layers,
                              int hidden, int heads, int ffn_hidden) {
  LayerSpec layer = Attention({hidden, heads, 8, 128});
  layer.ffn_hidden_size = ffn_hidden;
  layer.gated_mlp = true;
  return {.name = name,
          .sequence_length = 8192,
          .num_layers = num_layers,
          .dense = layer,
          .vocabulary = {.size = 128256}};
}

// Mixtral of Experts (2401.04088), Tab. 1.
constexpr BuiltinEntry Mixtral8x7b() {
  LayerSpec layer = Attention({4096, 32, 8, 128});
  layer.gated_mlp = true;
  layer.num_experts = 8;
  layer.experts_per_token = 2;
  layer.expert_ffn_hidden_size = 14336;
  return {.name = "mixtral-8x7b",
          .sequence_length = 4096,
          .num_layers = 32,
          .moe = layer,
          .vocabulary = {.size = 32000}};
}

// Qwen3 technical report (2505.09388), Tab. 2; widths from the published
// config.json.
constexpr BuiltinEntry Qwen330bA3b() {
  LayerSpec layer = Attention({2048, 32, 4, 128});
  layer.gated_mlp = true;
  layer.num_experts = 128;
  layer.experts_per_token = 8;
  layer.expert_ffn_hidden_size = 768;
  layer.qk_norm = true;
  return {.name = "qwen3-30b-a3b",
          .sequence_length = 4096,
          .num_layers = 48,
          .moe = layer,
          .vocabulary = {.size = 151936}};
}

// Qwen3 technical report (2505.09388), Tab. 2; widths from the published
// config.json.
constexpr BuiltinEntry Qwen3235bA22b() {
  LayerSpec layer = Attention({4096, 64, 4, 128});
  layer.gated_mlp = true;
  layer.num_experts = 128;
  layer.experts_per_token = 8;
  layer.expert_ffn_hidden_size = 1536;
  layer.qk_norm = true;
  return {.name = "qwen3-235b-a22b",
          .sequence_length = 4096,
          .num_layers = 94,
          .moe = layer,
          .vocabulary = {.size = 151936}};
}

// gpt-oss model card (2508.10925), §2. The model has sliding windows on every
// second layer; this entry leaves them out.
constexpr BuiltinEntry GptOss(absl::string_view name, int num_layers,
                              int num_experts) {
  LayerSpec layer = Attention({2880, 64, 8, 64});
  layer.gated_mlp = true;
  layer.linear_bias = true;
  layer.num_experts = num_experts;
  layer.experts_per_token = 4;
  layer.expert_ffn_hidden_size = 2880;
  return {.name = name,
          .sequence_length = 4096,
          .num_layers = num_layers,
          .moe = layer,
          .vocabulary = {.size = 201088}};
}

// Llama 2 (2307.09288), Tab. 1.
constexpr BuiltinEntry Llama2(absl::string_view name, int num_layers,
                              int hidden, int heads, int kv_heads,
                              int ffn_hidden) {
  LayerSpec layer = Attention({hidden, heads, kv_heads, 128});
  layer.ffn_hidden_size = ffn_hidden;
  layer.gated_mlp = true;
  return {.name = name,
          .sequence_length = 4096,
          .num_layers = num_layers,
          .dense = layer,
          .vocabulary = {.size = 32000}};
}

// Nemotron-4 (2402.16819, 2406.11704): squared ReLU, no gate, no biases.
constexpr BuiltinEntry Nemotron4(absl::string_view name, int num_layers,
                                 int hidden, int heads, int kv_heads) {
  LayerSpec layer = Attention({hidden, heads, kv_heads, hidden / heads});
  layer.ffn_hidden_size = 4 * hidden;
  layer.norm_bias = true;
  return {.name = name,
          .sequence_length = 4096,
          .num_layers = num_layers,
          .dense = layer,
          .vocabulary = {.size = 256000}};
}

// DeepSeek-V3 (2412.19437), §4.2, without the multi-token prediction module.
// Kimi K2 (2507.20534), §2.3, differs in fewer heads and more experts. A query
// head has 128 elements without and 64 with rotary position embedding.
constexpr BuiltinEntry Deepseek(absl::string_view name, int heads,
                                int num_experts, int first_dense,
                                int vocab_size) {
  LayerSpec dense = Attention({7168, heads, heads, 128 + 64});
  dense.value_head_dim = 128;
  dense.q_lora_rank = 1536;
  dense.kv_lora_rank = 512;
  dense.rope_head_dim = 64;
  dense.gated_mlp = true;
  LayerSpec moe = dense;
  dense.ffn_hidden_size = 18432;
  moe.num_experts = num_experts;
  moe.experts_per_token = 8;
  moe.expert_ffn_hidden_size = 2048;
  moe.shared_expert_ffn_hidden_size = 2048;
  return {.name = name,
          .sequence_length = 4096,
          .num_layers = 61,
          .dense = dense,
          .moe = moe,
          .first_dense = first_dense,
          .vocabulary = {.size = vocab_size}};
}

constexpr BuiltinEntry kEntries[] = {
    Gpt3("gpt3-1.3b", 24, 2048, 32),
    Gpt3("gpt3-6.7b", 32, 4096, 32),
    Gpt3("gpt3-13b", 40, 5120, 40),
    Gpt3("gpt3-175b", 96, 12288, 96),
    GshardMoe("gshard-moe-2.4b", 1024, 16),
    GshardMoe("gshard-moe-7.1b", 1280, 32),
    GshardMoe("gshard-moe-10b", 1536, 32),
    Mixtral8x7b(),
    Qwen330bA3b(),
    Llama3("llama3-8b", 32, 4096, 32, 14336),
    Llama3("llama3-70b", 80, 8192, 64, 28672),
    Llama3("llama3-405b", 126, 16384, 128, 53248),
    Deepseek("deepseek-v3", 128, 256, 3, 129280),
    Qwen3235bA22b(),
    GptOss("gpt-oss-20b", 24, 32),
    GptOss("gpt-oss-120b", 36, 128),
    Llama2("llama2-7b", 32, 4096, 32, 32, 11008),
    Llama2("llama2-13b", 40, 5120, 40, 40, 13824),
    Llama2("llama2-70b", 80, 8192, 64, 8, 28672),
    Nemotron4("nemotron4-15b", 32, 6144, 48, 8),
    Nemotron4("nemotron4-340b", 96, 18432, 96, 8),
    Deepseek("kimi-k2", 64, 384, 1, 163840),
};

const BuiltinEntry* FindEntry(absl::string_view name) {
  for (const BuiltinEntry& entry : kEntries) {
    if (absl::EqualsIgnoreCase(entry.name, name)) return &entry;
  }
  return nullptr;
}

bool IsMoeLayer(const BuiltinEntry& entry, int layer) {
  return entry.moe.is_moe() && layer >= entry.first_dense &&
         (layer - entry.first_dense) % entry.moe_period == 0;
}

}  // namespace

absl::StatusOr<ModelSpec> BuiltinModel(absl::string_view name) {
  const BuiltinEntry* entry = FindEntry(name);
  if (entry == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("model: ", name, "; expected one of ",
                     absl::StrJoin(BuiltinModelNames(), ", ")));
  }
  std::vector<LayerSpec> layers;
  for (int i = 0; i < entry->num_layers; ++i) {
    layers.push_back(IsMoeLayer(*entry, i) ? entry->moe : entry->dense);
  }
  return AssembleModel(std::string(entry->name), entry->vocabulary, layers);
}

std::optional<int> BuiltinSequenceLength(absl::string_view name) {
  const BuiltinEntry* entry = FindEntry(name);
  if (entry == nullptr) return std::nullopt;
  return entry->sequence_length;
}

std::vector<std::string> BuiltinModelNames() {
  std::vector<std::string> names;
  for (const BuiltinEntry& entry : kEntries) names.emplace_back(entry.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tangram
