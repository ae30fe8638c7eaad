#include "formats/config/hf_experts.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "formats/config/hf_hybrid.h"
#include "formats/config/hf_names.h"

namespace tangram {
namespace {

constexpr absl::string_view kCount[] = {
    "num_local_experts", "num_experts",        "n_routed_experts",
    "moe_num_experts",   "num_routed_experts", "ffn_config.moe_num_experts"};
constexpr absl::string_view kPerToken[] = {"num_experts_per_tok",
                                           "experts_per_token",
                                           "num_experts_per_token",
                                           "top_k_experts",
                                           "moe_topk",
                                           "moe_top_k",
                                           "moe_k",
                                           "ffn_config.moe_top_k"};
constexpr absl::string_view kWidth[] = {
    "moe_intermediate_size", "expert_intermediate_size", "moe_ffn_hidden_size",
    "expert_ffn_hidden_size", "ffn_config.ffn_hidden_size"};
constexpr absl::string_view kSharedCount[] = {
    "n_shared_experts", "num_shared_experts", "moe_num_shared_experts",
    "num_shared_expert"};
constexpr absl::string_view kSharedWidth[] = {
    "shared_expert_intermediate_size", "shared_intermediate_size",
    "share_expert_dim", "moe_shared_expert_intermediate_size"};

absl::string_view NumExpertsKey(ExpertRule rule) {
  switch (rule) {
    case ExpertRule::kNone:
    case ExpertRule::kEveryLayer:
      return "num_local_experts";
    case ExpertRule::kSparseStep:
      return "num_experts";
    case ExpertRule::kAfterFirstDense:
      return "n_routed_experts";
  }
  return "";
}

// The shared experts are one MLP as wide as all of them together.
absl::Status ReadSharedWidth(const ConfigField& root, const HfFamily& family,
                             HfExperts& experts) {
  TANGRAM_ASSIGN_OR_RETURN(
      const int count,
      ReadAnyInt(root, kSharedCount, family.shared_like_routed ? 1 : 0, 0,
                 kMaxExperts - 1));
  TANGRAM_ASSIGN_OR_RETURN(
      const int width, ReadAnyInt(root, kSharedWidth, 0, 0, kMaxFfnHiddenSize));
  experts.shared_ffn_hidden_size =
      width > 0 ? width * std::max(count, 1) : count * experts.ffn_hidden_size;
  if (!family.dense_beside_experts) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(
      experts.shared_ffn_hidden_size,
      RequireInt(root, "intermediate_size", kMaxFfnHiddenSize));
  return absl::OkStatus();
}

absl::Status ReadSizes(const ConfigField& root, const HfFamily& family,
                       HfExperts& experts) {
  TANGRAM_ASSIGN_OR_RETURN(experts.experts_per_token,
                           RequireAnyInt(root, kPerToken, experts.num_experts));
  const bool as_dense = family.experts == ExpertRule::kEveryLayer ||
                        family.experts == ExpertRule::kNone;
  const std::optional<ConfigField> width = FindAnyOf(root, kWidth);
  if (width.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(experts.ffn_hidden_size,
                             width->AsInt(1, kMaxFfnHiddenSize));
  } else {
    TANGRAM_ASSIGN_OR_RETURN(
        experts.ffn_hidden_size,
        RequireInt(root, as_dense ? "intermediate_size" : kWidth[0],
                   kMaxFfnHiddenSize));
  }
  if (family.latent_experts) {
    TANGRAM_ASSIGN_OR_RETURN(
        experts.latent_size,
        ReadInt(root, "moe_latent_size", 0, 0, kMaxHiddenSize));
  }
  return ReadSharedWidth(root, family, experts);
}

// Marks layers with (i + 1) % decoder_sparse_step == 0 as MoE, except those in
// mlp_only_layers.
absl::Status MarkSparseSteps(const ConfigField& root,
                             std::vector<bool>& is_moe_layer) {
  const int num_layers = static_cast<int>(is_moe_layer.size());
  TANGRAM_ASSIGN_OR_RETURN(
      const int step,
      ReadInt(root, "decoder_sparse_step", 1, 1, kMaxTransformerLayers));
  for (int i = 0; i < num_layers; ++i) is_moe_layer[i] = (i + 1) % step == 0;
  const std::optional<ConfigField> dense = root.Find("mlp_only_layers");
  if (!dense.has_value()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           dense->Elements());
  for (const ConfigField& element : elements) {
    TANGRAM_ASSIGN_OR_RETURN(const int layer, element.AsInt(0, num_layers - 1));
    is_moe_layer[layer] = false;
  }
  return absl::OkStatus();
}

// Marks layers from first_k_dense_replace on with i % moe_layer_freq == 0 as
// MoE.
absl::Status MarkAfterFirstDense(const ConfigField& root,
                                 const HfFamily& family,
                                 std::vector<bool>& is_moe_layer) {
  const int num_layers = static_cast<int>(is_moe_layer.size());
  TANGRAM_ASSIGN_OR_RETURN(
      const int first,
      ReadAnyInt(root, {"first_k_dense_replace", "moe_layer_start_index"},
                 family.first_dense, 0, kMaxTransformerLayers));
  TANGRAM_ASSIGN_OR_RETURN(
      const int frequency,
      ReadInt(root, "moe_layer_freq", 1, 1, kMaxTransformerLayers));
  for (int i = first; i < num_layers; ++i) is_moe_layer[i] = i % frequency == 0;
  return absl::OkStatus();
}

// Marks layers by a 0 or 1 for each.
absl::Status MarkByFlags(const ConfigField& flags,
                         std::vector<bool>& is_moe_layer) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           flags.Elements());
  if (elements.size() < is_moe_layer.size()) {
    return flags.Error(absl::StrCat("0 or 1 for each of the ",
                                    is_moe_layer.size(), " layers; there are ",
                                    elements.size()));
  }
  for (size_t i = 0; i < is_moe_layer.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(const int flag, elements[i].AsInt(0, 1));
    is_moe_layer[i] = flag == 1;
  }
  return absl::OkStatus();
}

// Marks the layers that are listed, and those that a text lists: "3,4,5".
absl::Status MarkListed(const ConfigField& list,
                        std::vector<bool>& is_moe_layer) {
  const int num_layers = static_cast<int>(is_moe_layer.size());
  if (!list.is_sequence()) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string text, list.AsNote());
    for (const absl::string_view part : absl::StrSplit(text, ',')) {
      int layer = 0;
      if (!absl::SimpleAtoi(part, &layer) || layer < 0 || layer >= num_layers) {
        return list.Error(absl::StrCat("layers from 0 to ", num_layers - 1));
      }
      is_moe_layer[layer] = true;
    }
    return absl::OkStatus();
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           list.Elements());
  for (const ConfigField& element : elements) {
    TANGRAM_ASSIGN_OR_RETURN(const int layer, element.AsInt(0, num_layers - 1));
    is_moe_layer[layer] = true;
  }
  return absl::OkStatus();
}

// Reads "dense" or "sparse" for each layer, which replaces the family's rule.
absl::Status MarkByType(const ConfigField& types,
                        std::vector<bool>& is_moe_layer) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           types.Elements());
  TANGRAM_RETURN_IF_ERROR(
      CheckOneEach(types, elements.size(), is_moe_layer.size()));
  for (size_t i = 0; i < is_moe_layer.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string type, elements[i].AsText());
    is_moe_layer[i] = type == "sparse";
  }
  return absl::OkStatus();
}

// Marks the layers that have experts by the first field that tells them.
absl::Status MarkMoeLayers(const ConfigField& root, const HfFamily& family,
                           std::vector<bool>& is_moe_layer) {
  if (family.hybrid == HybridRule::kPeriods) {
    return MarkPeriodicLayers(root, {"expert_layer_period", 2},
                              {"expert_layer_offset", 1}, is_moe_layer);
  }
  if (family.hybrid == HybridRule::kPattern) {
    TANGRAM_ASSIGN_OR_RETURN(
        const std::vector<HfParts> parts,
        ReadHfParts(root, family, static_cast<int>(is_moe_layer.size())));
    for (size_t i = 0; i < parts.size(); ++i) {
      is_moe_layer[i] = parts[i].experts;
    }
    return absl::OkStatus();
  }
  if (const auto types = root.Find("mlp_layer_types")) {
    return MarkByType(*types, is_moe_layer);
  }
  const std::optional<ConfigField> frequency = root.Find("moe_layer_freq");
  if (frequency.has_value() && frequency->is_sequence()) {
    return MarkByFlags(*frequency, is_moe_layer);
  }
  if (const auto list = FindAnyOf(root, {"moe_layers", "moe_layers_enum"})) {
    return MarkListed(*list, is_moe_layer);
  }
  if (const auto step = root.Find("interleave_moe_layer_step")) {
    TANGRAM_ASSIGN_OR_RETURN(const int every,
                             step->AsInt(1, kMaxTransformerLayers));
    for (size_t i = 0; i < is_moe_layer.size(); ++i) {
      is_moe_layer[i] = (i + 1) % every == 0;
    }
    return absl::OkStatus();
  }
  if (family.experts == ExpertRule::kSparseStep) {
    return MarkSparseSteps(root, is_moe_layer);
  }
  if (family.experts == ExpertRule::kAfterFirstDense ||
      root.Find("first_k_dense_replace").has_value()) {
    return MarkAfterFirstDense(root, family, is_moe_layer);
  }
  is_moe_layer.assign(is_moe_layer.size(), true);
  return absl::OkStatus();
}

}  // namespace

void HfExperts::AddTo(LayerSpec& layer) const {
  layer.num_experts = num_experts;
  layer.experts_per_token = experts_per_token;
  layer.expert_ffn_hidden_size = ffn_hidden_size;
  layer.shared_expert_ffn_hidden_size = shared_ffn_hidden_size;
  layer.expert_latent_size = latent_size;
}

absl::StatusOr<HfExperts> ReadHfExperts(const ConfigField& root,
                                        const HfFamily& family,
                                        int num_layers) {
  HfExperts experts{.is_moe_layer = std::vector<bool>(num_layers, false)};
  const std::optional<ConfigField> count = FindAnyOf(root, kCount);
  if (count.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(experts.num_experts, count->AsInt(0, kMaxExperts));
  } else if (family.experts != ExpertRule::kNone) {
    return root.MissingError(NumExpertsKey(family.experts),
                             "a positive integer");
  } else if (family.hybrid == HybridRule::kPeriods ||
             family.hybrid == HybridRule::kTypes) {
    // transformers has experts without the field.
    return root.MissingError(family.hybrid == HybridRule::kPeriods
                                 ? "num_experts"
                                 : "num_local_experts",
                             "a number of experts; without experts, 1 or 0");
  }
  if (experts.num_experts == 0 && family.hybrid == HybridRule::kPattern) {
    TANGRAM_RETURN_IF_ERROR(MarkMoeLayers(root, family, experts.is_moe_layer));
    if (absl::c_linear_search(experts.is_moe_layer, true)) {
      return root.MissingError("n_routed_experts", "a positive integer");
    }
  }
  // Jamba without a choice of experts has plain MLPs.
  if (family.hybrid == HybridRule::kPeriods && experts.num_experts == 1) {
    experts.num_experts = 0;
  }
  if (experts.num_experts == 0) return experts;
  TANGRAM_RETURN_IF_ERROR(ReadSizes(root, family, experts));
  TANGRAM_RETURN_IF_ERROR(MarkMoeLayers(root, family, experts.is_moe_layer));
  return experts;
}

}  // namespace tangram
