#include "formats/config/hf_details.h"

#include <optional>
#include <string>

#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "formats/config/hf_names.h"

namespace tangram {
namespace {

// Returns the number under the first of `names`, or 0 if there is none for all
// layers.
absl::StatusOr<double> ReadNumber(const ConfigField& root, HfNames names,
                                  double max) {
  const std::optional<ConfigField> field = FindAnyOf(root, names);
  // Layers that differ have a list.
  if (!field.has_value() || field->is_sequence()) return 0;
  return field->AsNumber(0, max);
}

absl::StatusOr<double> ReadRate(const ConfigField& root, HfNames names,
                                double usual) {
  const std::optional<ConfigField> field = FindAnyOf(root, names);
  if (!field.has_value()) return usual;
  return field->AsNumber(0, 1);
}

// The type "default" is no scaling.
absl::StatusOr<RopeScaling> ReadRopeScaling(const ConfigField& rope) {
  RopeScaling scaling;
  const std::optional<ConfigField> type =
      FindAnyOf(rope, {"rope_type", "type"});
  if (!type.has_value()) return scaling;
  TANGRAM_ASSIGN_OR_RETURN(const std::string name, type->AsName());
  if (name == "default") return scaling;
  scaling.type = name;
  TANGRAM_ASSIGN_OR_RETURN(scaling.factor,
                           ReadNumber(rope, {"factor"}, kMaxModelDetail));
  TANGRAM_ASSIGN_OR_RETURN(
      scaling.low_freq_factor,
      ReadNumber(rope, {"low_freq_factor"}, kMaxModelDetail));
  TANGRAM_ASSIGN_OR_RETURN(
      scaling.high_freq_factor,
      ReadNumber(rope, {"high_freq_factor"}, kMaxModelDetail));
  if (const auto field = rope.Find("original_max_position_embeddings")) {
    TANGRAM_ASSIGN_OR_RETURN(scaling.original_positions,
                             field->AsInt(1, kMaxPositions));
  }
  return scaling;
}

// Newer files have all of it in `rope_parameters`. Files whose layers differ
// have a mapping for each kind of layer there, of which nothing is read.
absl::Status ReadRope(const ConfigField& root, const HfFamily& family,
                      ModelDetails& details) {
  const std::optional<ConfigField> nested = root.Find("rope_parameters");
  const ConfigField& rope =
      nested.has_value() && nested->is_mapping() ? *nested : root;
  TANGRAM_ASSIGN_OR_RETURN(
      details.rope_theta,
      ReadNumber(rope, {"rope_theta", "rotary_emb_base"}, kMaxModelDetail));
  TANGRAM_ASSIGN_OR_RETURN(
      details.rope_fraction,
      ReadNumber(rope, {"partial_rotary_factor", "rotary_pct"}, 1));
  if (details.rope_fraction == 0) details.rope_fraction = family.rope_fraction;
  const std::optional<ConfigField> scaling =
      nested.has_value() ? nested : root.Find("rope_scaling");
  if (!scaling.has_value() || !scaling->is_mapping()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(details.rope_scaling, ReadRopeScaling(*scaling));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelDetails> ReadHfDetails(const ConfigField& root,
                                           const ConfigField& file,
                                           const HfFamily& family) {
  ModelDetails details;
  TANGRAM_RETURN_IF_ERROR(ReadRope(root, family, details));
  TANGRAM_ASSIGN_OR_RETURN(
      details.norm_epsilon,
      ReadNumber(root,
                 {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon",
                  "layernorm_epsilon", "norm_epsilon", "norm_eps"},
                 1));
  TANGRAM_ASSIGN_OR_RETURN(
      details.attention_dropout,
      ReadRate(root, {"attention_dropout", "attn_pdrop", "attn_dropout_prob"},
               family.attention_dropout));
  TANGRAM_ASSIGN_OR_RETURN(
      details.hidden_dropout,
      ReadRate(root,
               {"hidden_dropout", "resid_pdrop", "residual_dropout", "dropout"},
               family.hidden_dropout));
  for (const ConfigField* part : {&root, &file}) {
    const auto dtype = FindAnyOf(*part, {"dtype", "torch_dtype"});
    if (!dtype.has_value()) continue;
    TANGRAM_ASSIGN_OR_RETURN(details.dtype, dtype->AsName());
    break;
  }
  TANGRAM_ASSIGN_OR_RETURN(
      details.attention_softcap,
      ReadNumber(root, {"attn_logit_softcapping"}, kMaxModelDetail));
  TANGRAM_ASSIGN_OR_RETURN(
      details.logit_softcap,
      ReadNumber(root, {"final_logit_softcapping"}, kMaxModelDetail));
  details.no_positions = family.no_positions;
  if (const auto type = root.Find("position_embedding_type")) {
    details.no_positions |= type->AsText().value_or("") == "nope";
  }
  return details;
}

}  // namespace tangram
