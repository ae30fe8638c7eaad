#include "formats/config/hf_hybrid.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "formats/config/hf_names.h"

namespace tangram {
namespace {

using Parts = std::vector<HfParts>;

constexpr HfParts kMambaWithMlp = {.mixer = HfMixer::kMamba};
constexpr HfParts kMambaAlone = {.mixer = HfMixer::kMamba, .mlp = false};
constexpr HfParts kAttentionAlone = {.mlp = false};
constexpr HfParts kMlpAlone = {.mixer = HfMixer::kNone};
constexpr HfParts kExpertsAlone = {.mixer = HfMixer::kNone, .experts = true};

absl::Status ReadPeriods(const ConfigField& root, Parts& parts) {
  std::vector<bool> has_attention(parts.size());
  TANGRAM_RETURN_IF_ERROR(MarkPeriodicLayers(
      root, {"attn_layer_period", 8}, {"attn_layer_offset", 4}, has_attention));
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!has_attention[i]) parts[i] = kMambaWithMlp;
  }
  return absl::OkStatus();
}

absl::Status ReadIndices(const ConfigField& root, Parts& parts) {
  const int last = static_cast<int>(parts.size()) - 1;
  parts.assign(parts.size(), kMambaWithMlp);
  const std::optional<ConfigField> list = root.Find("attn_layer_indices");
  if (!list.has_value()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           list->Elements());
  for (const ConfigField& element : elements) {
    TANGRAM_ASSIGN_OR_RETURN(const int layer, element.AsInt(0, last));
    parts[layer] = {};
  }
  return absl::OkStatus();
}

std::optional<ConfigField> FindTypes(const ConfigField& root) {
  return FindAnyOf(root, {"layers_block_type", "layer_types"});
}

// Reads a type for each layer. `whole`: mixers have an MLP after them.
absl::Status ReadTypes(const ConfigField& types, bool whole, Parts& parts) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           types.Elements());
  TANGRAM_RETURN_IF_ERROR(CheckOneEach(types, elements.size(), parts.size()));
  for (size_t i = 0; i < parts.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string type, elements[i].AsText());
    if (type == "mamba" || type == "linear_attention") {
      parts[i] = whole ? kMambaWithMlp : kMambaAlone;
    } else if (type == "attention" || type == "full_attention") {
      parts[i] = whole ? HfParts{} : kAttentionAlone;
    } else if (!whole && type == "mlp") {
      parts[i] = kMlpAlone;
    } else if (!whole && type == "moe") {
      parts[i] = kExpertsAlone;
    } else {
      return elements[i].Error(whole ? "mamba or attention"
                                     : "mamba, attention, mlp or moe");
    }
  }
  return absl::OkStatus();
}

// Nemotron-H writes a letter for each layer.
absl::Status ReadPattern(const ConfigField& field, Parts& parts) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string pattern, field.AsText());
  TANGRAM_RETURN_IF_ERROR(CheckOneEach(field, pattern.size(), parts.size()));
  for (size_t i = 0; i < parts.size(); ++i) {
    switch (pattern[i]) {
      case 'M':
        parts[i] = kMambaAlone;
        break;
      case '*':
        parts[i] = kAttentionAlone;
        break;
      case '-':
        parts[i] = kMlpAlone;
        break;
      case 'E':
        parts[i] = kExpertsAlone;
        break;
      default:
        return field.Error("M, *, - or E for each layer");
    }
  }
  return absl::OkStatus();
}

// Reads an integer that may be "auto".
absl::StatusOr<int> ReadAuto(const ConfigField& root, HfNames names, int other,
                             int max) {
  const std::optional<ConfigField> field = FindAnyOf(root, names);
  if (!field.has_value() || field->AsText().value_or("") == "auto") {
    return other;
  }
  return field->AsInt(1, max);
}

// Reads the heads of Mamba-2, which tell the number of channels or must agree
// with it.
absl::Status ReadHeads(const ConfigField& root, const HfFamily& family,
                       MambaDimensions& mamba) {
  const auto field =
      FindAnyOf(root, {"mamba_n_heads", "mamba_num_heads", "num_heads"});
  if (family.mamba_by_heads && !field.has_value()) {
    return root.MissingError("mamba_num_heads", "a positive integer");
  }
  int heads = 0;
  if (field.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(heads, field->AsInt(1, kMaxHeads));
  }
  // In hybrids, head_dim is that of attention.
  static constexpr absl::string_view kAlone[] = {"head_dim"};
  static constexpr absl::string_view kInHybrid[] = {"mamba_d_head",
                                                    "mamba_head_dim"};
  const HfNames names =
      family.hybrid == HybridRule::kAllLayers ? HfNames(kAlone) : kInHybrid;
  TANGRAM_ASSIGN_OR_RETURN(mamba.head_dim,
                           ReadAuto(root, names,
                                    heads > 0 && !family.mamba_by_heads
                                        ? std::max(1, mamba.inner_size / heads)
                                        : 64,
                                    kMaxHeadDim));
  if (family.mamba_by_heads) mamba.inner_size = heads * mamba.head_dim;
  if (heads > 0 && heads * mamba.head_dim != mamba.inner_size) {
    return field->Error(absl::StrCat("as many heads of ", mamba.head_dim,
                                     " as make the ", mamba.inner_size,
                                     " channels of Mamba"));
  }
  if (mamba.inner_size % mamba.head_dim == 0) return absl::OkStatus();
  return root.MissingError(
      "mamba_num_heads",
      absl::StrCat("whole heads of ", mamba.head_dim, " of the ",
                   mamba.inner_size, " channels of Mamba"));
}

// Reads the groups of Mamba-2.
absl::Status ReadGroups(const ConfigField& root, const HfFamily& family,
                        MambaDimensions& mamba) {
  const auto field =
      FindAnyOf(root, {"mamba_n_groups", "mamba_num_groups", "n_groups"});
  mamba.groups = 1;
  if (field.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(mamba.groups, field->AsInt(1, kMaxHeads));
  } else if (family.needs_mamba_groups) {
    return root.MissingError("n_groups", "a positive integer");
  }
  if (mamba.num_heads() % mamba.groups == 0) return absl::OkStatus();
  return field->Error(
      absl::StrCat("a divisor of the ", mamba.num_heads(), " heads of Mamba"));
}

// Returns an error if a file has both and they differ.
absl::Status CheckTypesMatch(const ConfigField& types, const Parts& parts) {
  Parts listed(parts.size());
  TANGRAM_RETURN_IF_ERROR(ReadTypes(types, /*whole=*/false, listed));
  if (listed == parts) return absl::OkStatus();
  return types.Error("the layers of hybrid_override_pattern");
}

// Planned mixers have no such biases.
absl::Status RefuseBiases(const ConfigField& root) {
  for (const absl::string_view name : {"mamba_proj_bias", "use_bias"}) {
    TANGRAM_ASSIGN_OR_RETURN(const bool bias, ReadFlag(root, name));
    if (!bias) continue;
    return absl::UnimplementedError(
        root.Find(name)
            ->Error("false; biases of a Mamba mixer's projections are not "
                    "modelled")
            .message());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MarkPeriodicLayers(const ConfigField& root,
                                const UsualInt& period_field,
                                const UsualInt& offset_field,
                                std::vector<bool>& marks) {
  TANGRAM_ASSIGN_OR_RETURN(
      const int period, ReadInt(root, period_field.name, period_field.usual, 1,
                                kMaxTransformerLayers));
  TANGRAM_ASSIGN_OR_RETURN(
      const int offset, ReadInt(root, offset_field.name, offset_field.usual, 0,
                                kMaxTransformerLayers));
  if (offset >= period) {
    const std::string expected = absl::StrCat("less than the period, ", period);
    const auto field = root.Find(offset_field.name);
    return field.has_value() ? field->Error(expected)
                             : root.MissingError(offset_field.name, expected);
  }
  for (size_t i = 0; i < marks.size(); ++i) {
    marks[i] = static_cast<int>(i) % period == offset;
  }
  return absl::OkStatus();
}

absl::StatusOr<int> CountHybridLayers(const ConfigField& root) {
  const auto types = FindTypes(root);
  size_t count = 0;
  if (types.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                             types->Elements());
    count = elements.size();
  } else if (const auto pattern = root.Find("hybrid_override_pattern")) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string letters, pattern->AsText());
    count = letters.size();
  }
  return static_cast<int>(
      std::min(count, static_cast<size_t>(kMaxTransformerLayers) + 1));
}

absl::StatusOr<std::vector<HfParts>> ReadHfParts(const ConfigField& root,
                                                 const HfFamily& family,
                                                 int num_layers) {
  Parts parts(num_layers);
  const std::optional<ConfigField> types = FindTypes(root);
  switch (family.hybrid) {
    case HybridRule::kNone:
      break;
    case HybridRule::kPeriods:
      TANGRAM_RETURN_IF_ERROR(ReadPeriods(root, parts));
      break;
    case HybridRule::kIndices:
      TANGRAM_RETURN_IF_ERROR(ReadIndices(root, parts));
      break;
    case HybridRule::kTypes:
      if (!types.has_value()) {
        return root.MissingError("layer_types", "mamba or attention a layer");
      }
      TANGRAM_RETURN_IF_ERROR(ReadTypes(*types, /*whole=*/true, parts));
      break;
    case HybridRule::kPattern:
      if (const auto pattern = root.Find("hybrid_override_pattern")) {
        TANGRAM_RETURN_IF_ERROR(ReadPattern(*pattern, parts));
        if (types.has_value()) {
          TANGRAM_RETURN_IF_ERROR(CheckTypesMatch(*types, parts));
        }
      } else if (types.has_value()) {
        TANGRAM_RETURN_IF_ERROR(ReadTypes(*types, /*whole=*/false, parts));
      } else {
        return root.MissingError("hybrid_override_pattern",
                                 "M, *, - or E for each layer");
      }
      break;
    case HybridRule::kAllLayers:
      parts.assign(parts.size(), kMambaAlone);
      break;
  }
  return parts;
}

absl::StatusOr<MambaDimensions> ReadHfMamba(const ConfigField& root,
                                            const HfFamily& family,
                                            int hidden_size) {
  TANGRAM_RETURN_IF_ERROR(RefuseBiases(root));
  MambaDimensions mamba;
  TANGRAM_ASSIGN_OR_RETURN(
      const int expand,
      ReadAnyInt(root, {"mamba_expand", "expand"}, 2, 1, 1024));
  mamba.inner_size = expand * hidden_size;
  if (family.hybrid == HybridRule::kAllLayers) {
    TANGRAM_ASSIGN_OR_RETURN(
        mamba.inner_size, ReadAnyInt(root, {"intermediate_size", "d_inner"},
                                     mamba.inner_size, 1, kMaxFfnHiddenSize));
  }
  TANGRAM_ASSIGN_OR_RETURN(
      mamba.state_size,
      ReadAnyInt(root, {"mamba_d_state", "ssm_state_size", "state_size"},
                 family.mamba_state_size, 1, kMaxStateSize));
  TANGRAM_ASSIGN_OR_RETURN(
      mamba.conv_kernel,
      ReadAnyInt(root, {"mamba_d_conv", "conv_kernel", "d_conv"}, 4, 1,
                 kMaxConvKernel));
  if (family.mamba2) {
    TANGRAM_RETURN_IF_ERROR(ReadHeads(root, family, mamba));
    TANGRAM_RETURN_IF_ERROR(ReadGroups(root, family, mamba));
    return mamba;
  }
  TANGRAM_ASSIGN_OR_RETURN(mamba.dt_rank,
                           ReadAuto(root, {"mamba_dt_rank", "time_step_rank"},
                                    (hidden_size + 15) / 16, kMaxHiddenSize));
  mamba.inner_norms = family.mamba_inner_norms;
  return mamba;
}

}  // namespace tangram
