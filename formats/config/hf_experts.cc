#include "formats/config/hf_experts.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"

namespace tangram {
namespace {

absl::string_view NumExpertsKey(ExpertRule rule) {
  switch (rule) {
    case ExpertRule::kNone:
      return "";
    case ExpertRule::kEveryLayer:
      return "num_local_experts";
    case ExpertRule::kSparseStep:
      return "num_experts";
    case ExpertRule::kAfterFirstDense:
      return "n_routed_experts";
  }
  return "";
}

absl::Status ReadSizes(const ConfigField& root, ExpertRule rule,
                       HfExperts& experts) {
  const absl::string_view per_token = root.Find("experts_per_token").has_value()
                                          ? "experts_per_token"
                                          : "num_experts_per_tok";
  TANGRAM_ASSIGN_OR_RETURN(experts.experts_per_token,
                           RequireInt(root, per_token, experts.num_experts));
  TANGRAM_ASSIGN_OR_RETURN(
      experts.ffn_hidden_size,
      RequireInt(root,
                 rule == ExpertRule::kEveryLayer ? "intermediate_size"
                                                 : "moe_intermediate_size",
                 kMaxFfnHiddenSize));
  TANGRAM_ASSIGN_OR_RETURN(
      const int num_shared,
      ReadInt(root, "n_shared_experts", 0, 0, kMaxExperts - 1));
  TANGRAM_ASSIGN_OR_RETURN(
      experts.shared_ffn_hidden_size,
      ReadInt(root, "shared_expert_intermediate_size",
              num_shared * experts.ffn_hidden_size, 0, kMaxFfnHiddenSize));
  return absl::OkStatus();
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
                                 std::vector<bool>& is_moe_layer) {
  const int num_layers = static_cast<int>(is_moe_layer.size());
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField first_moe,
      root.Require("first_k_dense_replace", "a non-negative integer"));
  TANGRAM_ASSIGN_OR_RETURN(const int first,
                           first_moe.AsInt(0, kMaxTransformerLayers));
  TANGRAM_ASSIGN_OR_RETURN(
      const int frequency,
      ReadInt(root, "moe_layer_freq", 1, 1, kMaxTransformerLayers));
  for (int i = first; i < num_layers; ++i) is_moe_layer[i] = i % frequency == 0;
  return absl::OkStatus();
}

// Reads "dense" or "sparse" for each layer, which replaces the family's rule.
absl::Status MarkByType(const ConfigField& types,
                        std::vector<bool>& is_moe_layer) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           types.Elements());
  if (elements.size() != is_moe_layer.size()) {
    return types.Error(absl::StrCat("one type for each of the ",
                                    is_moe_layer.size(), " layers; there are ",
                                    elements.size()));
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string type, elements[i].AsText());
    is_moe_layer[i] = type == "sparse";
  }
  return absl::OkStatus();
}

}  // namespace

void HfExperts::AddTo(LayerSpec& layer) const {
  layer.num_experts = num_experts;
  layer.experts_per_token = experts_per_token;
  layer.expert_ffn_hidden_size = ffn_hidden_size;
  layer.shared_expert_ffn_hidden_size = shared_ffn_hidden_size;
}

absl::StatusOr<HfExperts> ReadHfExperts(const ConfigField& root,
                                        const HfFamily& family,
                                        int num_layers) {
  HfExperts experts{.is_moe_layer = std::vector<bool>(num_layers, false)};
  const ExpertRule rule = family.experts;
  if (rule == ExpertRule::kNone) return experts;
  TANGRAM_ASSIGN_OR_RETURN(experts.num_experts,
                           RequireInt(root, NumExpertsKey(rule), kMaxExperts));
  TANGRAM_RETURN_IF_ERROR(ReadSizes(root, rule, experts));
  if (const auto types = root.Find("mlp_layer_types")) {
    TANGRAM_RETURN_IF_ERROR(MarkByType(*types, experts.is_moe_layer));
  } else if (rule == ExpertRule::kEveryLayer) {
    experts.is_moe_layer.assign(num_layers, true);
  } else if (rule == ExpertRule::kSparseStep) {
    TANGRAM_RETURN_IF_ERROR(MarkSparseSteps(root, experts.is_moe_layer));
  } else {
    TANGRAM_RETURN_IF_ERROR(MarkAfterFirstDense(root, experts.is_moe_layer));
  }
  return experts;
}

}  // namespace tangram
