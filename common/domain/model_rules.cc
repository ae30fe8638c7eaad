#include "common/domain/model_rules.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"

namespace tangram {
namespace {

absl::Status CheckPositive(absl::string_view field, int value) {
  if (value > 0) return absl::OkStatus();
  return FieldError(field, value, "a positive integer");
}

struct NamedInt {
  absl::string_view field;
  int value;
};

// Nothing reads fields that the layer has no use for.
absl::Status CheckZero(absl::Span<const NamedInt> fields,
                       absl::string_view reason) {
  for (const auto& [field, value] : fields) {
    if (value == 0) continue;
    return FieldError(field, value, absl::StrCat("0, as ", reason));
  }
  return absl::OkStatus();
}

std::vector<NamedInt> AttentionFields(const LayerSpec& layer) {
  return {{"num_heads", layer.num_heads},
          {"num_kv_heads", layer.num_kv_heads},
          {"head_dim", layer.head_dim},
          {"value_head_dim", layer.value_head_dim},
          {"sliding_window", layer.sliding_window},
          {"q_lora_rank", layer.q_lora_rank},
          {"kv_lora_rank", layer.kv_lora_rank},
          {"rope_head_dim", layer.rope_head_dim},
          {"qkv_bias", layer.qkv_bias},
          {"qk_norm", layer.qk_norm}};
}

// Latent attention has no key and value heads.
absl::Status CheckHeads(const LayerSpec& layer) {
  TANGRAM_RETURN_IF_ERROR(CheckPositive("num_heads", layer.num_heads));
  TANGRAM_RETURN_IF_ERROR(CheckPositive("head_dim", layer.head_dim));
  if (layer.kv_lora_rank > 0) return absl::OkStatus();
  TANGRAM_RETURN_IF_ERROR(CheckPositive("num_kv_heads", layer.num_kv_heads));
  if (layer.num_heads % layer.num_kv_heads == 0) return absl::OkStatus();
  return FieldError("num_kv_heads", layer.num_kv_heads,
                    absl::StrCat("a divisor of num_heads, ", layer.num_heads));
}

// Heads are whole, and each group has as many of them.
absl::Status CheckMambaHeads(const MambaDimensions& mamba) {
  TANGRAM_RETURN_IF_ERROR(CheckPositive("mamba.head_dim", mamba.head_dim));
  TANGRAM_RETURN_IF_ERROR(CheckPositive("mamba.groups", mamba.groups));
  if (mamba.inner_size % mamba.head_dim != 0) {
    return FieldError(
        "mamba.head_dim", mamba.head_dim,
        absl::StrCat("a divisor of mamba.inner_size, ", mamba.inner_size));
  }
  if (mamba.num_heads() % mamba.groups != 0) {
    return FieldError("mamba.groups", mamba.groups,
                      absl::StrCat("a divisor of the ", mamba.num_heads(),
                                   " heads of the mixer"));
  }
  return CheckZero({{"mamba.dt_rank", mamba.dt_rank},
                    {"mamba.inner_norms", mamba.inner_norms}},
                   "the mixer is mamba2");
}

absl::Status CheckMamba(const LayerSpec& layer) {
  const MambaDimensions& mamba = layer.mamba;
  TANGRAM_RETURN_IF_ERROR(CheckPositive("mamba.inner_size", mamba.inner_size));
  TANGRAM_RETURN_IF_ERROR(CheckPositive("mamba.state_size", mamba.state_size));
  TANGRAM_RETURN_IF_ERROR(
      CheckPositive("mamba.conv_kernel", mamba.conv_kernel));
  if (layer.mixer == MixerKind::kMamba2) return CheckMambaHeads(mamba);
  TANGRAM_RETURN_IF_ERROR(CheckPositive("mamba.dt_rank", mamba.dt_rank));
  return CheckZero(
      {{"mamba.head_dim", mamba.head_dim}, {"mamba.groups", mamba.groups}},
      "the mixer is mamba");
}

// Checks the mixer, and that nothing is said of others.
absl::Status CheckMixer(const LayerSpec& layer) {
  const std::string reason =
      absl::StrCat("the mixer is ", MixerName(layer.mixer));
  if (layer.mixer != MixerKind::kAttention) {
    TANGRAM_RETURN_IF_ERROR(CheckZero(AttentionFields(layer), reason));
  }
  if (layer.is_mamba()) return CheckMamba(layer);
  if (layer.mamba != MambaDimensions()) {
    return FieldError("mamba", "given", absl::StrCat("none, as ", reason));
  }
  return layer.mixer == MixerKind::kAttention ? CheckHeads(layer)
                                              : absl::OkStatus();
}

// Nothing reads the fields of experts in a layer that has none.
absl::Status CheckNoExperts(const LayerSpec& layer, absl::string_view reason) {
  const struct {
    absl::string_view field;
    double value;
  } fields[] = {{"num_experts", 1.0 * layer.num_experts},
                {"experts_per_token", 1.0 * layer.experts_per_token},
                {"expert_ffn_hidden_size", 1.0 * layer.expert_ffn_hidden_size},
                {"shared_expert_ffn_hidden_size",
                 1.0 * layer.shared_expert_ffn_hidden_size},
                {"expert_latent_size", 1.0 * layer.expert_latent_size},
                {"expert_capacity_factor", layer.expert_capacity_factor},
                {"expert_group_tokens", 1.0 * layer.expert_group_tokens}};
  for (const auto& [field, value] : fields) {
    if (value == 0) continue;
    return FieldError(field, value, absl::StrCat("0, as ", reason));
  }
  return absl::OkStatus();
}

absl::Status CheckExpertCapacity(const LayerSpec& layer) {
  const double factor = layer.expert_capacity_factor;
  if (factor != 0 && !(factor >= 1 && factor <= kMaxExpertCapacityFactor)) {
    return FieldError(
        "expert_capacity_factor", factor,
        absl::StrCat("0, or from 1 to ", kMaxExpertCapacityFactor));
  }
  if (factor == 0 && layer.expert_group_tokens > 0) {
    return FieldError("expert_group_tokens", layer.expert_group_tokens,
                      "0, as expert_capacity_factor is 0");
  }
  return absl::OkStatus();
}

absl::Status CheckMlp(const LayerSpec& layer) {
  if (layer.no_mlp) {
    constexpr char kReason[] = "no_mlp is true";
    if (layer.mixer == MixerKind::kNone) {
      return FieldError("no_mlp", "true", "false, as the mixer is none");
    }
    TANGRAM_RETURN_IF_ERROR(
        CheckZero({{"ffn_hidden_size", layer.ffn_hidden_size}}, kReason));
    return CheckNoExperts(layer, kReason);
  }
  if (layer.num_experts < 0) {
    return FieldError("num_experts", layer.num_experts,
                      "0 or a positive integer");
  }
  if (!layer.is_moe()) {
    TANGRAM_RETURN_IF_ERROR(CheckNoExperts(layer, "num_experts is 0"));
    return CheckPositive("ffn_hidden_size", layer.ffn_hidden_size);
  }
  TANGRAM_RETURN_IF_ERROR(
      CheckPositive("experts_per_token", layer.experts_per_token));
  TANGRAM_RETURN_IF_ERROR(
      CheckPositive("expert_ffn_hidden_size", layer.expert_ffn_hidden_size));
  if (layer.expert_latent_size < 0) {
    return FieldError("expert_latent_size", layer.expert_latent_size,
                      "0 or a positive integer");
  }
  TANGRAM_RETURN_IF_ERROR(CheckExpertCapacity(layer));
  if (layer.experts_per_token <= layer.num_experts) return absl::OkStatus();
  return FieldError("experts_per_token", layer.experts_per_token,
                    absl::StrCat("at most num_experts, ", layer.num_experts));
}

const char* NameOf(LayerKind kind) {
  switch (kind) {
    case LayerKind::kEmbedding:
      return "an embedding";
    case LayerKind::kTransformer:
      return "a transformer layer";
    case LayerKind::kHead:
      return "a head";
  }
  return "unknown";
}

// Checks the kinds: the costs of a pipeline count one embedding and one head.
absl::Status CheckOrder(const ModelSpec& model) {
  const int last = model.num_layers() - 1;
  if (last < 1) {
    return FieldError("layers", absl::StrCat(last + 1, " layers"),
                      "an embedding, transformer layers and a head");
  }
  for (int i = 0; i <= last; ++i) {
    const LayerKind wanted = i == 0      ? LayerKind::kEmbedding
                             : i == last ? LayerKind::kHead
                                         : LayerKind::kTransformer;
    if (model.layers[i].kind == wanted) continue;
    const char* const place = i == 0      ? " as the first layer"
                              : i == last ? " as the last layer"
                                          : " between the first and the last";
    return FieldError(absl::StrCat("layers[", i, "].kind"),
                      NameOf(model.layers[i].kind),
                      absl::StrCat(NameOf(wanted), place));
  }
  return absl::OkStatus();
}

absl::Status CheckSomeMix(const ModelSpec& model) {
  for (const LayerSpec& layer : model.layers) {
    if (layer.kind == LayerKind::kTransformer &&
        layer.mixer != MixerKind::kNone) {
      return absl::OkStatus();
    }
  }
  return FieldError("layers", "none mixes tokens",
                    "attention or Mamba in one or more");
}

}  // namespace

absl::Status CheckLayerFits(const LayerSpec& layer) {
  if (layer.kind != LayerKind::kTransformer) {
    TANGRAM_RETURN_IF_ERROR(CheckNoExperts(
        layer, absl::StrCat("the layer is ", NameOf(layer.kind))));
    if (!layer.is_plain() || layer.mamba != MambaDimensions()) {
      return FieldError(
          "mixer", "given",
          absl::StrCat("none, as the layer is ", NameOf(layer.kind)));
    }
    return CheckPositive("vocab_size", layer.vocab_size);
  }
  TANGRAM_RETURN_IF_ERROR(CheckMixer(layer));
  return CheckMlp(layer);
}

absl::Status CheckLayersFit(const ModelSpec& model) {
  TANGRAM_RETURN_IF_ERROR(CheckOrder(model));
  TANGRAM_RETURN_IF_ERROR(CheckSomeMix(model));
  const LayerSpec* end = nullptr;  // The last embedding or head.
  for (int i = 0; i < model.num_layers(); ++i) {
    const LayerSpec& layer = model.layers[i];
    const auto differs = [&](absl::string_view field,
                             const absl::AlphaNum& value,
                             const absl::AlphaNum& other) {
      return FieldError(absl::StrCat("layers[", i, "].", field), value,
                        absl::StrCat("that of the layers before, ", other));
    };
    if (i > 0 && layer.hidden_size != model.layers[i - 1].hidden_size) {
      return differs("hidden_size", layer.hidden_size,
                     model.layers[i - 1].hidden_size);
    }
    if (layer.kind == LayerKind::kTransformer) continue;
    if (end != nullptr && layer.vocab_size != end->vocab_size) {
      return differs("vocab_size", layer.vocab_size, end->vocab_size);
    }
    if (end != nullptr && layer.tied_embeddings != end->tied_embeddings) {
      return differs("tied_embeddings",
                     layer.tied_embeddings ? "true" : "false",
                     end->tied_embeddings ? "true" : "false");
    }
    end = &layer;
  }
  return absl::OkStatus();
}

}  // namespace tangram
