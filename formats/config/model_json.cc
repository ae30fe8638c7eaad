#include "formats/config/model_json.h"

#include <optional>

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

// The layers with a property, counted from 0: first, first + every,
// first + 2·every, and so on.
struct Pattern {
  int first = 0;
  int every = 1;
};

// Returns the pattern that the first two layers with the property set; empty if
// no layer has it. ModelToYaml checks that the others follow it.
std::optional<Pattern> FindPattern(const ModelSpec& model,
                                   bool (*has)(const LayerSpec&)) {
  std::optional<Pattern> pattern;
  for (int i = model.num_layers() - 3; i >= 0; --i) {
    if (!has(model.layers[i + 1])) continue;
    pattern = {i, pattern.has_value() ? pattern->first - i : 1};
  }
  return pattern;
}

void AddExperts(const ModelSpec& model, Json& json) {
  const auto pattern =
      FindPattern(model, [](const LayerSpec& layer) { return layer.is_moe(); });
  if (!pattern.has_value()) return;
  const LayerSpec& layer = model.layers[pattern->first + 1];
  json["experts"] = {
      {"count", layer.num_experts},
      {"per_token", layer.experts_per_token},
      {"ffn_hidden_size", layer.expert_ffn_hidden_size},
      {"shared_ffn_hidden_size", layer.shared_expert_ffn_hidden_size},
      {"first_layer", pattern->first},
      {"every", pattern->every}};
  if (layer.expert_capacity_factor > 0) {
    json["experts"]["capacity_factor"] = layer.expert_capacity_factor;
    json["experts"]["group_tokens"] = layer.expert_group_tokens;
  }
}

// Writes a number if all layers have the same window, otherwise a pattern.
void AddSlidingWindow(const ModelSpec& model, Json& json) {
  const auto pattern = FindPattern(
      model, [](const LayerSpec& layer) { return layer.sliding_window > 0; });
  if (!pattern.has_value()) return;
  const int tokens = model.layers[pattern->first + 1].sliding_window;
  if (pattern->first == 0 && pattern->every == 1) {
    json["sliding_window"] = tokens;
  } else {
    json["sliding_window"] = {{"tokens", tokens},
                              {"first_layer", pattern->first},
                              {"every", pattern->every}};
  }
}

}  // namespace

nlohmann::ordered_json ModelToJson(const ModelSpec& model) {
  const LayerSpec& embedding = model.layers.front();
  const LayerSpec& layer = model.layers[1];
  int ffn_hidden_size = 0;
  for (const LayerSpec& each : model.layers) {
    if (each.ffn_hidden_size > 0) ffn_hidden_size = each.ffn_hidden_size;
  }
  Json json = {{"name", model.name},
               {"layers", model.num_layers() - 2},
               {"hidden_size", layer.hidden_size},
               {"heads", layer.num_heads},
               {"kv_heads", layer.num_kv_heads},
               {"head_dim", layer.head_dim}};
  if (layer.kv_lora_rank == 0 && layer.value_head_dim != layer.head_dim) {
    json["value_head_dim"] = layer.value_head_dim;
  }
  AddSlidingWindow(model, json);
  if (layer.kv_lora_rank > 0) {
    json["latent_attention"] = {{"q_rank", layer.q_lora_rank},
                                {"kv_rank", layer.kv_lora_rank},
                                {"rope_head_dim", layer.rope_head_dim},
                                {"value_head_dim", layer.value_head_dim}};
  }
  if (ffn_hidden_size > 0) json["ffn_hidden_size"] = ffn_hidden_size;
  json["gated_mlp"] = layer.gated_mlp;
  AddExperts(model, json);
  json["vocab_size"] = embedding.vocab_size;
  json["max_positions"] = embedding.max_position_embeddings;
  json["tied_embeddings"] = embedding.tied_embeddings;
  json["bias"] = layer.linear_bias ? "all" : layer.qkv_bias ? "qkv" : "none";
  json["norm_bias"] = layer.norm_bias;
  json["qk_norm"] = layer.qk_norm;
  return json;
}

}  // namespace tangram
