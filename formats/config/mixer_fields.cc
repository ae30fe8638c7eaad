#include "formats/config/mixer_fields.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"

namespace tangram {

LayerSpec MixerLayers::Of(MixerKind kind) const {
  if (kind == MixerKind::kAttention) return attention;
  LayerSpec layer = mamba;
  if (kind == MixerKind::kNone) {
    layer.mixer = kind;
    layer.mamba = {};
  }
  return layer;
}

absl::Status ReadMambaFields(const ConfigField& root, LayerSpec& layer) {
  layer.mixer = MixerKind::kNone;
  const std::optional<ConfigField> field = root.Find("mamba");
  if (!field.has_value()) return absl::OkStatus();
  TANGRAM_RETURN_IF_ERROR(field->CheckKeys(
      {"version", "inner_size", "head_dim", "groups", "state_size",
       "conv_kernel", "dt_rank", "inner_norms"}));
  TANGRAM_ASSIGN_OR_RETURN(const int version,
                           ReadInt(*field, "version", 2, 1, 2));
  MambaDimensions& mamba = layer.mamba;
  TANGRAM_ASSIGN_OR_RETURN(mamba.inner_size,
                           RequireInt(*field, "inner_size", kMaxFfnHiddenSize));
  TANGRAM_ASSIGN_OR_RETURN(mamba.state_size,
                           RequireInt(*field, "state_size", kMaxStateSize));
  TANGRAM_ASSIGN_OR_RETURN(
      mamba.conv_kernel, ReadInt(*field, "conv_kernel", 4, 1, kMaxConvKernel));
  if (version == 1) {
    layer.mixer = MixerKind::kMamba;
    TANGRAM_RETURN_IF_ERROR(
        field->CheckKeys({"version", "inner_size", "state_size", "conv_kernel",
                          "dt_rank", "inner_norms"}));
    TANGRAM_ASSIGN_OR_RETURN(mamba.dt_rank,
                             RequireInt(*field, "dt_rank", kMaxHiddenSize));
    TANGRAM_ASSIGN_OR_RETURN(mamba.inner_norms,
                             ReadFlag(*field, "inner_norms"));
    return absl::OkStatus();
  }
  layer.mixer = MixerKind::kMamba2;
  TANGRAM_RETURN_IF_ERROR(
      field->CheckKeys({"version", "inner_size", "head_dim", "groups",
                        "state_size", "conv_kernel"}));
  TANGRAM_ASSIGN_OR_RETURN(mamba.head_dim,
                           ReadInt(*field, "head_dim", 64, 1, kMaxHeadDim));
  TANGRAM_ASSIGN_OR_RETURN(mamba.groups,
                           ReadInt(*field, "groups", 1, 1, kMaxHeads));
  if (mamba.inner_size % mamba.head_dim != 0) {
    return field->Find("inner_size")
        ->Error(absl::StrCat("a multiple of head_dim, ", mamba.head_dim));
  }
  if (mamba.num_heads() % mamba.groups == 0) return absl::OkStatus();
  return field->Find("groups")->Error(
      absl::StrCat("a divisor of the ", mamba.num_heads(), " heads"));
}

absl::StatusOr<MixerKind> ReadMixer(const ConfigField& root,
                                    const LayerSpec& mamba, MixerKind other) {
  const std::optional<ConfigField> field = root.Find("mixer");
  if (!field.has_value()) return other;
  const std::string word = field->AsText().value_or("");
  if (word == "attention") return MixerKind::kAttention;
  if (word == "none") return MixerKind::kNone;
  if (word != "mamba") return field->Error("attention, mamba or none");
  if (mamba.is_mamba()) return mamba.mixer;
  return field->Error("attention or none, as the file has no field mamba");
}

nlohmann::ordered_json MambaFieldsJson(const LayerSpec& layer) {
  const MambaDimensions& mamba = layer.mamba;
  const bool second = layer.mixer == MixerKind::kMamba2;
  nlohmann::ordered_json json = {{"version", second ? 2 : 1},
                                 {"inner_size", mamba.inner_size}};
  if (second) {
    json["head_dim"] = mamba.head_dim;
    json["groups"] = mamba.groups;
  }
  json["state_size"] = mamba.state_size;
  json["conv_kernel"] = mamba.conv_kernel;
  if (second) return json;
  json["dt_rank"] = mamba.dt_rank;
  json["inner_norms"] = mamba.inner_norms;
  return json;
}

const char* MixerWord(MixerKind kind) {
  return IsMamba(kind) ? "mamba" : MixerName(kind);
}

}  // namespace tangram
