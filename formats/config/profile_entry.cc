#include "formats/config/profile_entry.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/domain/figure_limits.h"
#include "common/domain/limits.h"
#include "formats/config/training_names.h"

namespace tangram {
namespace {

absl::StatusOr<int> ReadDegree(const ConfigField& parent,
                               absl::string_view key) {
  return ReadOr(parent, key, 1, [](const ConfigField& field) {
    return field.AsInt(1, kMaxGpus);
  });
}

absl::StatusOr<double> RequireNumber(const ConfigField& parent,
                                     absl::string_view key, double max) {
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField field,
      parent.Require(key, absl::StrCat("a number from 0 to ", max)));
  return field.AsNumber(0, max);
}

absl::StatusOr<std::optional<double>> ReadNumber(const ConfigField& parent,
                                                 absl::string_view key,
                                                 double max) {
  if (!parent.Find(key).has_value()) return std::nullopt;
  TANGRAM_ASSIGN_OR_RETURN(const double value, RequireNumber(parent, key, max));
  return value;
}

absl::StatusOr<int> FindModel(const ConfigField& entry,
                              const Profile& profile) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           entry.Require("model", "the name of a model"));
  TANGRAM_ASSIGN_OR_RETURN(const std::string name, field.AsText());
  std::vector<std::string> names;
  for (size_t i = 0; i < profile.models.size(); ++i) {
    names.push_back(profile.models[i].name);
    if (names.back() == name) return static_cast<int>(i);
  }
  return field.Error(names.empty()
                         ? "a model of `models`, which has none"
                         : absl::StrCat("one of ", absl::StrJoin(names, ", ")));
}

// Returns the entry's index into the model's layers.
absl::StatusOr<int> FindLayer(const ConfigField& entry, LayerKind kind,
                              const ModelSpec& model) {
  const std::optional<ConfigField> given = entry.Find("layer");
  if (kind != LayerKind::kTransformer) {
    if (given.has_value()) {
      return given->Error("no layer number unless it is a transformer layer");
    }
    return kind == LayerKind::kEmbedding ? 0 : model.num_layers() - 1;
  }
  if (!given.has_value()) return 1;
  TANGRAM_ASSIGN_OR_RETURN(const int index,
                           given->AsInt(0, model.num_layers() - 3));
  return index + 1;
}

absl::StatusOr<LayerKind> ReadKind(const ConfigField& entry) {
  constexpr absl::string_view kExpected = "embedding, transformer or head";
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           entry.Require("kind", kExpected));
  TANGRAM_ASSIGN_OR_RETURN(const std::string kind, field.AsText());
  if (kind == "embedding") return LayerKind::kEmbedding;
  if (kind == "transformer") return LayerKind::kTransformer;
  if (kind == "head") return LayerKind::kHead;
  return field.Error(kExpected);
}

// Returns the kind of layer that has the operator.
absl::StatusOr<LayerKind> KindWithOp(const ConfigField& entry) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           entry.Require("op", "the name of an operator"));
  TANGRAM_ASSIGN_OR_RETURN(const std::string name, field.AsText());
  if (name == OpName(OpKind::kEmbedding)) return LayerKind::kEmbedding;
  if (name == OpName(OpKind::kFinalNorm) || name == OpName(OpKind::kHead)) {
    return LayerKind::kHead;
  }
  return LayerKind::kTransformer;
}

absl::StatusOr<OpKind> ReadOp(const ConfigField& entry,
                              const LayerSpec& layer) {
  const ConfigField field = *entry.Find("op");
  TANGRAM_ASSIGN_OR_RETURN(const std::string name, field.AsText());
  std::vector<std::string> names;
  for (const OpKind op : OperatorsOf(layer)) {
    names.push_back(OpName(op));
    if (names.back() == name) return op;
  }
  return field.Error(
      absl::StrCat("an operator of the layer: ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<StageParallelism> ReadParallelism(const ConfigField& entry) {
  StageParallelism parallelism;
  TANGRAM_ASSIGN_OR_RETURN(parallelism.tp_degree, ReadDegree(entry, "tp"));
  TANGRAM_ASSIGN_OR_RETURN(parallelism.cp_degree, ReadDegree(entry, "cp"));
  TANGRAM_ASSIGN_OR_RETURN(parallelism.ep_degree, ReadDegree(entry, "ep"));
  TANGRAM_ASSIGN_OR_RETURN(parallelism.tp_y_degree, ReadDegree(entry, "tp_y"));
  if (parallelism.tp_degree % parallelism.tp_y_degree != 0) {
    return entry.Find("tp_y")->Error(
        absl::StrCat("a divisor of tp, ", parallelism.tp_degree));
  }
  TANGRAM_ASSIGN_OR_RETURN(parallelism.fsep, ReadFlag(entry, "fsep"));
  TANGRAM_ASSIGN_OR_RETURN(parallelism.sequence_parallel,
                           ReadFlag(entry, "sequence_parallel"));
  return parallelism;
}

absl::StatusOr<ProfilePoint> ReadPoint(const ConfigField& field) {
  ProfilePoint point;
  TANGRAM_ASSIGN_OR_RETURN(point.samples,
                           RequireInt(field, "samples", kMaxBatch));
  TANGRAM_ASSIGN_OR_RETURN(point.forward_s,
                           RequireNumber(field, "forward_s", kMaxMeasuredS));
  TANGRAM_ASSIGN_OR_RETURN(point.backward_s,
                           RequireNumber(field, "backward_s", kMaxMeasuredS));
  TANGRAM_ASSIGN_OR_RETURN(point.saved_bytes,
                           ReadNumber(field, "saved_bytes", kMaxMemoryBytes));
  return point;
}

absl::StatusOr<std::vector<ConfigField>> PointFields(const ConfigField& entry) {
  constexpr absl::string_view kExpected = "a list of at least one point";
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           entry.Require("points", kExpected));
  TANGRAM_ASSIGN_OR_RETURN(std::vector<ConfigField> points, field.Elements());
  if (points.empty()) return field.Error(kExpected);
  return points;
}

absl::StatusOr<std::vector<ProfilePoint>> ReadPoints(
    const ConfigField& entry, absl::Span<const absl::string_view> keys) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> fields,
                           PointFields(entry));
  std::vector<ProfilePoint> points;
  for (const ConfigField& field : fields) {
    TANGRAM_RETURN_IF_ERROR(field.CheckKeys(keys));
    TANGRAM_ASSIGN_OR_RETURN(const ProfilePoint point, ReadPoint(field));
    if (!points.empty()) {
      if (point.samples <= points.back().samples) {
        return field.Find("samples")->Error("more than in the point before");
      }
      if (point.saved_bytes.has_value() !=
          points.back().saved_bytes.has_value()) {
        return field.MissingError("saved_bytes", "it in all points or in none");
      }
    }
    points.push_back(point);
  }
  return points;
}

// Reads the fields that layers and operators share. The entry is of `kind`.
absl::StatusOr<ProfileEntry> ReadShape(const ConfigField& field, LayerKind kind,
                                       const Profile& profile) {
  ProfileEntry entry;
  TANGRAM_ASSIGN_OR_RETURN(entry.model, FindModel(field, profile));
  TANGRAM_ASSIGN_OR_RETURN(entry.layer,
                           FindLayer(field, kind, profile.models[entry.model]));
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField precision,
      field.Require("precision", "fp32, fp16, bf16 or fp8"));
  TANGRAM_ASSIGN_OR_RETURN(const std::string name, precision.AsText());
  const absl::StatusOr<Precision> known = ParsePrecision(name);
  if (!known.ok()) return precision.Error("fp32, fp16, bf16 or fp8");
  entry.precision = *known;
  TANGRAM_ASSIGN_OR_RETURN(entry.sequence_length,
                           RequireInt(field, "sequence_length", kMaxPositions));
  TANGRAM_ASSIGN_OR_RETURN(entry.parallelism, ReadParallelism(field));
  TANGRAM_ASSIGN_OR_RETURN(entry.flash_attention,
                           ReadFlag(field, "flash_attention"));
  return entry;
}

}  // namespace

absl::StatusOr<ProfileEntry> ReadProfiledLayer(const ConfigField& field,
                                               const Profile& profile) {
  TANGRAM_RETURN_IF_ERROR(field.CheckKeys(
      {"model", "kind", "layer", "precision", "sequence_length", "tp", "tp_y",
       "cp", "ep", "fsep", "sequence_parallel", "flash_attention",
       "collectives_included", "points", "optimizer_s", "state_bytes"}));
  TANGRAM_ASSIGN_OR_RETURN(const LayerKind kind, ReadKind(field));
  TANGRAM_ASSIGN_OR_RETURN(ProfileEntry entry, ReadShape(field, kind, profile));
  const StageParallelism& p = entry.parallelism;
  const bool alone = p.tp_degree == 1 && p.cp_degree == 1 && p.ep_degree == 1;
  if (!alone && !field.Find("collectives_included").has_value()) {
    return field.MissingError("collectives_included",
                              "true or false, since tp, cp or ep is above 1");
  }
  TANGRAM_ASSIGN_OR_RETURN(entry.collectives_included,
                           ReadFlag(field, "collectives_included"));
  TANGRAM_ASSIGN_OR_RETURN(
      entry.points,
      ReadPoints(field, {"samples", "forward_s", "backward_s", "saved_bytes"}));
  TANGRAM_ASSIGN_OR_RETURN(entry.optimizer_s,
                           ReadNumber(field, "optimizer_s", kMaxMeasuredS));
  TANGRAM_ASSIGN_OR_RETURN(entry.state_bytes,
                           ReadNumber(field, "state_bytes", kMaxMemoryBytes));
  return entry;
}

absl::StatusOr<ProfileEntry> ReadProfiledOperator(const ConfigField& field,
                                                  const Profile& profile) {
  TANGRAM_RETURN_IF_ERROR(field.CheckKeys(
      {"model", "op", "layer", "precision", "sequence_length", "tp", "tp_y",
       "cp", "ep", "fsep", "sequence_parallel", "flash_attention", "points"}));
  TANGRAM_ASSIGN_OR_RETURN(const LayerKind kind, KindWithOp(field));
  TANGRAM_ASSIGN_OR_RETURN(ProfileEntry entry, ReadShape(field, kind, profile));
  TANGRAM_ASSIGN_OR_RETURN(entry.op, ReadOp(field, LayerOf(profile, entry)));
  TANGRAM_ASSIGN_OR_RETURN(
      entry.points, ReadPoints(field, {"samples", "forward_s", "backward_s"}));
  return entry;
}

}  // namespace tangram
