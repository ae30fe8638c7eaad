#include "formats/config/hf_attention.h"

#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "formats/config/hf_hybrid.h"
#include "formats/config/hf_linear_attention.h"
#include "formats/config/hf_names.h"

namespace tangram {
namespace {

constexpr absl::string_view kHeads[] = {"num_attention_heads", "n_head",
                                        "num_heads", "n_heads"};
constexpr absl::string_view kKvHeads[] = {
    "num_key_value_heads", "num_kv_heads",         "n_head_kv",
    "n_kv_heads",          "num_attention_groups", "attn_config.kv_n_heads"};
constexpr absl::string_view kHeadDim[] = {"head_dim", "kv_channels",
                                          "attention_head_dim"};
constexpr absl::string_view kHiddenSize[] = {"hidden_size", "n_embd", "d_model",
                                             "n_embed"};
constexpr absl::string_view kLayers[] = {"num_hidden_layers", "n_layer",
                                         "num_layers", "n_layers"};
constexpr absl::string_view kWindow[] = {"sliding_window",
                                         "sliding_window_size"};

absl::Status ReadHfKvHeads(const ConfigField& root, const HfFamily& family,
                           LayerSpec& layer) {
  layer.num_kv_heads = layer.num_heads;
  std::optional<ConfigField> kv = FindAnyOf(root, kKvHeads);
  if (family.multi_query) {
    layer.num_kv_heads = 1;
    return absl::OkStatus();
  }
  // ChatGLM calls them groups.
  TANGRAM_ASSIGN_OR_RETURN(const bool groups,
                           ReadFlag(root, "multi_query_attention"));
  if (groups) kv = root.Find("multi_query_group_num");
  if (kv.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(layer.num_kv_heads, kv->AsInt(1, kMaxHeads));
  } else if (family.sizes.kv_heads > 0) {
    layer.num_kv_heads = family.sizes.kv_heads;
  } else if (family.needs_kv_heads) {
    return root.MissingError("num_key_value_heads", "a positive integer");
  }
  if (layer.num_heads % layer.num_kv_heads == 0) return absl::OkStatus();
  const std::string expected =
      absl::StrCat("a divisor of the ", layer.num_heads, " attention heads");
  return kv.has_value() ? kv->Error(expected)
                        : root.MissingError("num_key_value_heads", expected);
}

absl::Status ReadHfLatentAttention(const ConfigField& root, LayerSpec& layer) {
  TANGRAM_ASSIGN_OR_RETURN(layer.q_lora_rank,
                           ReadInt(root, "q_lora_rank", 0, 0, kMaxHiddenSize));
  TANGRAM_ASSIGN_OR_RETURN(layer.kv_lora_rank,
                           RequireInt(root, "kv_lora_rank", kMaxHiddenSize));
  TANGRAM_ASSIGN_OR_RETURN(layer.rope_head_dim,
                           RequireInt(root, "qk_rope_head_dim", kMaxHeadDim));
  TANGRAM_ASSIGN_OR_RETURN(const int nope_head_dim,
                           RequireInt(root, "qk_nope_head_dim", kMaxHeadDim));
  // MiniCPM 3 has values as wide as the part of keys without positions.
  TANGRAM_ASSIGN_OR_RETURN(
      layer.value_head_dim,
      ReadInt(root, "v_head_dim", nope_head_dim, 1, kMaxHeadDim));
  layer.head_dim = nope_head_dim + layer.rope_head_dim;
  layer.num_kv_heads = layer.num_heads;
  return absl::OkStatus();
}

// Reads the dimensions of the layers that attend to all tokens, or of all.
absl::Status ReadSoftmaxAttention(const ConfigField& root,
                                  const HfFamily& family, LayerSpec& layer) {
  TANGRAM_ASSIGN_OR_RETURN(
      layer.num_heads,
      RequireAnyInt(root, kHeads, kMaxHeads, family.sizes.heads));
  // DeepSeek's smaller models switch latent attention off.
  TANGRAM_ASSIGN_OR_RETURN(const bool latent,
                           ReadFlag(root, "use_mla",
                                    family.latent_attention ||
                                        root.Find("kv_lora_rank").has_value()));
  if (latent) return ReadHfLatentAttention(root, layer);
  TANGRAM_RETURN_IF_ERROR(ReadHfKvHeads(root, family, layer));
  if (const std::optional<ConfigField> dim = FindAnyOf(root, kHeadDim)) {
    TANGRAM_ASSIGN_OR_RETURN(layer.head_dim, dim->AsInt(1, kMaxHeadDim));
  } else if (family.hybrid == HybridRule::kPattern) {
    // transformers would not take the usual hidden_size / heads.
    return root.MissingError("head_dim", "a positive integer");
  } else if (family.sizes.head_dim > 0) {
    layer.head_dim = family.sizes.head_dim;
  } else if (layer.hidden_size % layer.num_heads != 0) {
    const std::string expected =
        absl::StrCat("a divisor of hidden_size (", layer.hidden_size,
                     ") unless head_dim is given");
    const std::optional<ConfigField> heads = FindAnyOf(root, kHeads);
    return heads.has_value() ? heads->Error(expected)
                             : root.MissingError(kHeads[0], expected);
  } else {
    layer.head_dim = layer.hidden_size / layer.num_heads;
  }
  TANGRAM_ASSIGN_OR_RETURN(
      layer.value_head_dim,
      ReadInt(root, "v_head_dim", layer.head_dim, 0, kMaxHeadDim));
  if (layer.value_head_dim == 0) layer.value_head_dim = layer.head_dim;
  return absl::OkStatus();
}

// Changes the dimensions in which the layers of one kind differ from `layer`.
struct OtherDimensions {
  absl::string_view heads;
  absl::string_view kv_heads;
  absl::string_view head_dim;
  absl::string_view value_head_dim;
};
constexpr OtherDimensions kOfSliding = {"swa_num_attention_heads",
                                        "swa_num_key_value_heads",
                                        "swa_head_dim", "swa_v_head_dim"};
// Step 3.5 has these in attention_other_setting.
constexpr OtherDimensions kOfOther = {
    "num_attention_heads", "num_attention_groups", "head_dim", "head_dim"};
constexpr OtherDimensions kOfFull = {"num_global_attention_heads",
                                     "num_global_key_value_heads",
                                     "global_head_dim", "global_head_dim"};

absl::Status ReadOtherDimensions(const ConfigField& root,
                                 const OtherDimensions& names,
                                 LayerSpec& layer) {
  TANGRAM_ASSIGN_OR_RETURN(
      layer.num_heads,
      ReadInt(root, names.heads, layer.num_heads, 1, kMaxHeads));
  TANGRAM_ASSIGN_OR_RETURN(
      layer.num_kv_heads,
      ReadInt(root, names.kv_heads, layer.num_kv_heads, 1, kMaxHeads));
  TANGRAM_ASSIGN_OR_RETURN(
      layer.head_dim,
      ReadInt(root, names.head_dim, layer.head_dim, 1, kMaxHeadDim));
  TANGRAM_ASSIGN_OR_RETURN(layer.value_head_dim,
                           ReadInt(root, names.value_head_dim,
                                   layer.value_head_dim, 1, kMaxHeadDim));
  if (layer.num_heads % layer.num_kv_heads == 0) return absl::OkStatus();
  const std::string expected =
      absl::StrCat("a divisor of the ", layer.num_heads, " attention heads");
  const std::optional<ConfigField> kv = root.Find(names.kv_heads);
  return kv.has_value() ? kv->Error(expected)
                        : root.MissingError(names.kv_heads, expected);
}

absl::StatusOr<HfMixer> MixerOfType(const ConfigField& field) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string type, field.AsText());
  if (type == "full_attention" || type == "attention" || type == "global") {
    return HfMixer::kFull;
  }
  // Planned as full; HfUnplannedParts counts what chooses the tokens.
  if (type == "deepseek_sparse_attention" || type == "minimax_m3_sparse") {
    return HfMixer::kFull;
  }
  if (type == "sliding_attention") return HfMixer::kSliding;
  if (type == "chunked_attention") return HfMixer::kChunked;
  if (type == "linear_attention") return HfMixer::kLinear;
  return absl::UnimplementedError(
      field
          .Error("full_attention, sliding_attention, chunked_attention or "
                 "linear_attention; other layers are not modelled")
          .message());
}

using Mixers = std::vector<HfMixer>;

absl::Status ReadMixersByType(const ConfigField& types, Mixers& mixers) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           types.Elements());
  TANGRAM_RETURN_IF_ERROR(CheckOneEach(types, elements.size(), mixers.size()));
  for (size_t i = 0; i < mixers.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(mixers[i], MixerOfType(elements[i]));
  }
  return absl::OkStatus();
}

// MiMo marks layers with a window by 1.
absl::Status ReadMixersByPattern(const ConfigField& pattern, Mixers& mixers) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           pattern.Elements());
  TANGRAM_RETURN_IF_ERROR(
      CheckOneEach(pattern, elements.size(), mixers.size()));
  for (size_t i = 0; i < mixers.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(const int sliding, elements[i].AsInt(0, 1));
    if (sliding == 1) mixers[i] = HfMixer::kSliding;
  }
  return absl::OkStatus();
}

// Gives all layers but every `period`-th the mixer.
void MixAllButEvery(int period, HfMixer mixer, Mixers& mixers) {
  for (size_t i = 0; i < mixers.size(); ++i) {
    if ((i + 1) % period != 0) mixers[i] = mixer;
  }
}

// EXAONE repeats letters, local or global: "LLLG". Returns whether the pattern
// is of such letters.
bool ReadLetters(const ConfigField& pattern, Mixers& mixers) {
  const std::string letters = pattern.AsText().value_or("");
  if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos) {
    return false;
  }
  for (size_t i = 0; i < mixers.size(); ++i) {
    if (letters[i % letters.size()] == 'L') mixers[i] = HfMixer::kSliding;
  }
  return true;
}

// Layers from max_window_layers on have a window if windows are enabled.
absl::Status ReadEnabledWindows(const ConfigField& root, Mixers& mixers) {
  TANGRAM_ASSIGN_OR_RETURN(const bool enabled,
                           ReadFlag(root, "use_sliding_window"));
  TANGRAM_ASSIGN_OR_RETURN(
      const int first,
      ReadInt(root, "max_window_layers", 0, 0, kMaxTransformerLayers));
  for (size_t i = first; enabled && i < mixers.size(); ++i) {
    mixers[i] = HfMixer::kSliding;
  }
  return absl::OkStatus();
}

absl::StatusOr<Mixers> ReadMixers(const ConfigField& root,
                                  const HfFamily& family, int num_layers) {
  Mixers mixers(num_layers, HfMixer::kFull);
  if (const auto types = root.Find("layer_types")) {
    TANGRAM_RETURN_IF_ERROR(ReadMixersByType(*types, mixers));
    return mixers;
  }
  if (const auto pattern = root.Find("hybrid_layer_pattern")) {
    TANGRAM_RETURN_IF_ERROR(ReadMixersByPattern(*pattern, mixers));
    return mixers;
  }
  if (root.Find("linear_num_value_heads").has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(
        const int period,
        ReadInt(root, "full_attention_interval", 4, 1, kMaxTransformerLayers));
    MixAllButEvery(period, HfMixer::kLinear, mixers);
    return mixers;
  }
  // Llama 4: the layers without rotary positions attend to all tokens.
  if (family.model_type == "llama4_text" &&
      root.Find("attention_chunk_size").has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(
        const int period,
        ReadInt(root, "no_rope_layer_interval", 4, 1, kMaxTransformerLayers));
    MixAllButEvery(period, HfMixer::kChunked, mixers);
    return mixers;
  }
  if (!FindAnyOf(root, kWindow).has_value()) return mixers;
  const std::optional<ConfigField> pattern =
      FindAnyOf(root, {"sliding_window_pattern", "_sliding_window_pattern"});
  if (pattern.has_value() && ReadLetters(*pattern, mixers)) return mixers;
  int period = family.window_period;
  if (pattern.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(period, pattern->AsInt(1, kMaxTransformerLayers));
  }
  switch (family.sliding_window) {
    case SlidingWindowRule::kNever:
      break;
    case SlidingWindowRule::kAllLayers:
      mixers.assign(num_layers, HfMixer::kSliding);
      break;
    case SlidingWindowRule::kPeriod:
      MixAllButEvery(period, HfMixer::kSliding, mixers);
      break;
    case SlidingWindowRule::kIfEnabled:
      TANGRAM_RETURN_IF_ERROR(ReadEnabledWindows(root, mixers));
      break;
  }
  return mixers;
}

// The attention of each kind of layer.
struct Kinds {
  LayerSpec full;
  LayerSpec sliding;
  LayerSpec chunked;
  LayerSpec linear;
  LayerSpec mamba;
  LayerSpec none;

  const LayerSpec& Of(HfMixer mixer) const {
    switch (mixer) {
      case HfMixer::kFull:
        return full;
      case HfMixer::kSliding:
        return sliding;
      case HfMixer::kChunked:
        return chunked;
      case HfMixer::kLinear:
        return linear;
      case HfMixer::kMamba:
        return mamba;
      case HfMixer::kNone:
        return none;
    }
    return full;
  }
};

absl::StatusOr<Kinds> ReadKinds(const ConfigField& root, const LayerSpec& layer,
                                bool any_linear) {
  Kinds kinds{.full = layer,
              .sliding = layer,
              .chunked = layer,
              .linear = {.hidden_size = layer.hidden_size}};
  TANGRAM_RETURN_IF_ERROR(ReadOtherDimensions(root, kOfFull, kinds.full));
  TANGRAM_RETURN_IF_ERROR(ReadOtherDimensions(root, kOfSliding, kinds.sliding));
  if (const auto other = root.Find("attention_other_setting")) {
    TANGRAM_RETURN_IF_ERROR(other->CheckMapping());
    TANGRAM_RETURN_IF_ERROR(
        ReadOtherDimensions(*other, kOfOther, kinds.sliding));
  }
  TANGRAM_ASSIGN_OR_RETURN(kinds.sliding.sliding_window,
                           ReadAnyInt(root, kWindow, 0, 0, kMaxPositions));
  // A chunk is planned as a window: a token sees at most as many tokens.
  TANGRAM_ASSIGN_OR_RETURN(
      kinds.chunked.sliding_window,
      ReadInt(root, "attention_chunk_size", 0, 1, kMaxPositions));
  if (any_linear) {
    TANGRAM_ASSIGN_OR_RETURN(const HfLinearAttention linear,
                             ReadHfLinearAttention(root));
    TANGRAM_RETURN_IF_ERROR(SetStandIn(root, linear, kinds.linear));
  }
  return kinds;
}

// Reads a model some of whose layers are of Mamba, or have one part alone.
absl::StatusOr<HfAttention> ReadHybrid(const ConfigField& root,
                                       const HfFamily& family, int num_layers,
                                       int hidden_size) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<HfParts> parts,
                           ReadHfParts(root, family, num_layers));
  Kinds kinds{.full = {.hidden_size = hidden_size},
              .mamba = {.hidden_size = hidden_size,
                        .mixer = family.mamba2 ? MixerKind::kMamba2
                                               : MixerKind::kMamba},
              .none = {.hidden_size = hidden_size, .mixer = MixerKind::kNone}};
  const auto any = [&](HfMixer mixer) {
    return absl::c_any_of(
        parts, [mixer](const HfParts& part) { return part.mixer == mixer; });
  };
  if (any(HfMixer::kFull)) {
    TANGRAM_RETURN_IF_ERROR(ReadSoftmaxAttention(root, family, kinds.full));
  }
  if (any(HfMixer::kMamba)) {
    TANGRAM_ASSIGN_OR_RETURN(kinds.mamba.mamba,
                             ReadHfMamba(root, family, hidden_size));
  }
  HfAttention attention;
  for (const HfParts& part : parts) {
    attention.mixers.push_back(part.mixer);
    attention.layers.push_back(kinds.Of(part.mixer));
    attention.layers.back().no_mlp = !part.mlp;
  }
  return attention;
}

}  // namespace

absl::StatusOr<HfAttention> ReadHfAttention(const ConfigField& root,
                                            const HfFamily& family) {
  int usual_layers = family.sizes.layers;
  if (family.hybrid != HybridRule::kNone) {
    TANGRAM_ASSIGN_OR_RETURN(usual_layers, CountHybridLayers(root));
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const int num_layers,
      RequireAnyInt(root, kLayers, kMaxTransformerLayers, usual_layers));
  LayerSpec layer;
  TANGRAM_ASSIGN_OR_RETURN(layer.hidden_size,
                           RequireAnyInt(root, kHiddenSize, kMaxHiddenSize,
                                         family.sizes.hidden_size));
  if (family.hybrid != HybridRule::kNone) {
    return ReadHybrid(root, family, num_layers, layer.hidden_size);
  }
  TANGRAM_RETURN_IF_ERROR(ReadSoftmaxAttention(root, family, layer));
  HfAttention attention;
  TANGRAM_ASSIGN_OR_RETURN(attention.mixers,
                           ReadMixers(root, family, num_layers));
  bool any_linear = false;
  for (const HfMixer mixer : attention.mixers) {
    any_linear |= mixer == HfMixer::kLinear;
  }
  TANGRAM_ASSIGN_OR_RETURN(const Kinds kinds,
                           ReadKinds(root, layer, any_linear));
  for (const HfMixer mixer : attention.mixers) {
    attention.layers.push_back(kinds.Of(mixer));
  }
  return attention;
}

}  // namespace tangram
