#include "formats/config/model_json.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "formats/config/layer_overrides.h"
#include "formats/config/mixer_fields.h"

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
  if (layer.expert_latent_size > 0) {
    json["experts"]["latent_size"] = layer.expert_latent_size;
  }
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

// Returns a layer without its MLP, experts and window, which files describe
// apart.
LayerSpec WithMixerAlone(LayerSpec layer) {
  layer.no_mlp = false;
  layer.sliding_window = 0;
  layer.ffn_hidden_size = 0;
  layer.num_experts = layer.experts_per_token = 0;
  layer.expert_ffn_hidden_size = layer.shared_expert_ffn_hidden_size = 0;
  layer.expert_latent_size = 0;
  layer.expert_capacity_factor = layer.expert_group_tokens = 0;
  return layer;
}

// Returns the mixers of the model's layers: of each kind that of `base`, or
// else the first.
MixerLayers MixersOf(const ModelSpec& model, const LayerSpec& base) {
  MixerLayers mixers{.mamba = {.mixer = MixerKind::kNone}};
  const auto set = [&](const LayerSpec& layer) {
    if (layer.kind != LayerKind::kTransformer) return;
    if (layer.is_mamba()) mixers.mamba = WithMixerAlone(layer);
    if (layer.mixer == MixerKind::kAttention) {
      mixers.attention = WithMixerAlone(layer);
    }
  };
  for (auto it = model.layers.rbegin(); it != model.layers.rend(); ++it) {
    set(*it);
  }
  set(base);
  return mixers;
}

void AddAttention(const LayerSpec& layer, Json& json) {
  json["heads"] = layer.num_heads;
  json["kv_heads"] = layer.num_kv_heads;
  json["head_dim"] = layer.head_dim;
  if (layer.kv_lora_rank == 0 && layer.value_head_dim != layer.head_dim) {
    json["value_head_dim"] = layer.value_head_dim;
  }
}

// Writes a model whose layers are the first one, but for experts and windows in
// a pattern.
Json ToJson(const ModelSpec& model, const MixerLayers& mixers) {
  const LayerSpec& embedding = model.layers.front();
  const LayerSpec& layer = model.layers[1];
  const bool any_attention = mixers.attention.num_heads > 0;
  const LayerSpec& attention = any_attention ? mixers.attention : layer;
  int ffn_hidden_size = 0;
  for (const LayerSpec& each : model.layers) {
    if (each.ffn_hidden_size > 0) ffn_hidden_size = each.ffn_hidden_size;
  }
  Json json = {{"name", model.name},
               {"layers", model.num_layers() - 2},
               {"hidden_size", layer.hidden_size}};
  if (layer.mixer != MixerKind::kAttention) {
    json["mixer"] = MixerWord(layer.mixer);
  }
  if (layer.no_mlp) json["mlp"] = false;
  if (mixers.mamba.is_mamba()) json["mamba"] = MambaFieldsJson(mixers.mamba);
  if (any_attention) AddAttention(attention, json);
  AddSlidingWindow(model, json);
  if (attention.kv_lora_rank > 0) {
    json["latent_attention"] = {{"q_rank", attention.q_lora_rank},
                                {"kv_rank", attention.kv_lora_rank},
                                {"rope_head_dim", attention.rope_head_dim},
                                {"value_head_dim", attention.value_head_dim}};
  }
  if (ffn_hidden_size > 0) json["ffn_hidden_size"] = ffn_hidden_size;
  json["gated_mlp"] = layer.gated_mlp;
  AddExperts(model, json);
  json["vocab_size"] = embedding.vocab_size;
  json["max_positions"] = embedding.max_position_embeddings;
  json["tied_embeddings"] = embedding.tied_embeddings;
  json["bias"] = layer.linear_bias    ? "all"
                 : attention.qkv_bias ? "qkv"
                                      : "none";
  json["norm_bias"] = layer.norm_bias;
  json["qk_norm"] = attention.qk_norm;
  return json;
}

// Returns the transformer layer that most layers of `model` equal, the first of
// several.
const LayerSpec& MostFrequentLayer(const ModelSpec& model) {
  int best = 1;
  int best_count = 0;
  for (int i = 1; i + 1 < model.num_layers(); ++i) {
    const int count =
        static_cast<int>(absl::c_count(model.layers, model.layers[i]));
    if (count > best_count) {
      best = i;
      best_count = count;
    }
  }
  return model.layers[best];
}

}  // namespace

nlohmann::ordered_json ModelToJson(const ModelSpec& model) {
  return model.is_hybrid() ? ModelToJsonWithOverrides(model)
                           : ToJson(model, MixersOf(model, model.layers[1]));
}

nlohmann::ordered_json ModelToJsonWithOverrides(const ModelSpec& model) {
  ModelSpec uniform = model;
  const LayerSpec& base = MostFrequentLayer(model);
  const MixerLayers mixers = MixersOf(model, base);
  for (int i = 1; i + 1 < model.num_layers(); ++i) uniform.layers[i] = base;
  Json json = ToJson(uniform, mixers);
  Json overrides = LayerOverridesJson(
      base, mixers,
      absl::MakeConstSpan(model.layers)
          .subspan(1, static_cast<size_t>(model.num_layers()) - 2));
  if (!overrides.empty()) json["overrides"] = std::move(overrides);
  return json;
}

}  // namespace tangram
