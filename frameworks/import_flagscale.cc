#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "frameworks/import_parts.h"
#include "frameworks/targets.h"

namespace tangram {
namespace {

// Finds a setting in any section, because FlagScale flattens its file.
absl::StatusOr<ConfigField> RequireSetting(const ConfigField& file,
                                           absl::string_view key,
                                           absl::string_view expected) {
  std::optional<ConfigField> field = FindSetting(file, key);
  if (field.has_value()) return *std::move(field);
  return file.MissingError(key, expected);
}

absl::StatusOr<int> SettingOr(const ConfigField& file, absl::string_view key,
                              int fallback) {
  const std::optional<ConfigField> field = FindSetting(file, key);
  if (!field.has_value()) return fallback;
  return field->AsInt(1, kMaxNumber);
}

absl::StatusOr<bool> FlagOf(const ConfigField& file, absl::string_view key) {
  const std::optional<ConfigField> field = FindSetting(file, key);
  if (!field.has_value()) return false;
  return field->AsBool();
}

// Returns the stages of all meshes, without layers.
absl::StatusOr<std::vector<LayerStage>> ReadMeshes(const ConfigField& file,
                                                   size_t num_gpus) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           RequireSetting(file, "hetero_process_meshes",
                                          "tp, cp, ep, dp, pp of each mesh"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> values,
                           AsInts(field, /*min=*/1));
  constexpr int kFields = 5;  // tp, cp, ep, dp, pp.
  if (values.empty() || values.size() % kFields != 0) {
    return field.Error("tp, cp, ep, dp, pp of each mesh");
  }
  TANGRAM_ASSIGN_OR_RETURN(const bool sharded,
                           FlagOf(file, "use_distributed_optimizer"));
  TANGRAM_ASSIGN_OR_RETURN(const bool sequence_parallel,
                           FlagOf(file, "sequence_parallel"));
  std::vector<LayerStage> stages;
  for (size_t m = 0; m < values.size(); m += kFields) {
    if (stages.size() + values[m + 4] > num_gpus) {
      return field.Error(absl::StrCat("no more stages than the cluster's ",
                                      num_gpus, " GPUs"));
    }
    LayerStage stage{.parallelism = {.tp_degree = values[m],
                                     .cp_degree = values[m + 1],
                                     .dp_degree = values[m + 3],
                                     .ep_degree = values[m + 2],
                                     .zero_stage = sharded ? 1 : 0,
                                     .sequence_parallel = sequence_parallel}};
    stages.insert(stages.end(), values[m + 4], stage);
  }
  return stages;
}

absl::Status ReadLayerSplit(const ConfigField& file, int num_layers,
                            std::vector<LayerStage>& stages) {
  const std::optional<ConfigField> field =
      FindSetting(file, "hetero_pipeline_layer_split");
  if (!field.has_value()) {
    for (LayerStage& stage : stages) {
      stage.num_layers = num_layers / static_cast<int>(stages.size());
    }
    return absl::OkStatus();
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> split,
                           AsInts(*field, /*min=*/0));
  if (split.size() != stages.size()) {
    return field->Error(absl::StrCat(stages.size(), " numbers, one a stage"));
  }
  for (size_t i = 0; i < split.size(); ++i) {
    stages[i].num_layers = split[i];
  }
  return absl::OkStatus();
}

// Returns the largest value of each stage. A line is [stages, microbatches,
// value, microbatches, value, ...].
absl::StatusOr<std::vector<int>> ReadPerStage(const ConfigField& field,
                                              size_t num_stages) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> lines,
                           field.Elements());
  std::vector<int> values;
  for (const ConfigField& line : lines) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> numbers,
                             AsInts(line, /*min=*/0));
    if (numbers.size() < 3 || numbers.size() % 2 == 0 ||
        numbers.front() > static_cast<int>(num_stages)) {
      return line.Error("stages, then microbatches and value, in turn");
    }
    int most = 0;
    for (size_t i = 2; i < numbers.size(); i += 2) {
      most = std::max(most, numbers[i]);
    }
    values.insert(values.end(), numbers.front(), most);
  }
  if (values.size() == num_stages) return values;
  return field.Error(absl::StrCat(num_stages, " stages in all"));
}

// Reads the recomputation: all layers of a stage, or with method "block" the
// first ones.
absl::Status ReadRecomputePerStage(const ConfigField& file,
                                   const ConfigField& granularity_field,
                                   std::vector<LayerStage>& stages) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> granularity,
                           ReadPerStage(granularity_field, stages.size()));
  std::vector<int> method(stages.size(), 0);
  std::vector<int> num_layers(stages.size(), 1);
  const std::pair<const char*, std::vector<int>*> lists[] = {
      {"recompute_method_per_stage_micro_batch", &method},
      {"recompute_num_layers_per_stage_micro_batch", &num_layers}};
  for (const auto& [key, values] : lists) {
    const std::optional<ConfigField> field = FindSetting(file, key);
    if (!field.has_value()) continue;
    TANGRAM_ASSIGN_OR_RETURN(*values, ReadPerStage(*field, stages.size()));
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    const bool any = granularity[i] > 0 && num_layers[i] > 0;
    const int block = std::min(num_layers[i], stages[i].num_layers);
    stages[i].recomputed = !any            ? 0
                           : method[i] > 0 ? block
                                           : stages[i].num_layers;
  }
  return absl::OkStatus();
}

absl::Status ReadRecompute(const ConfigField& file,
                           std::vector<LayerStage>& stages) {
  if (const std::optional<ConfigField> field =
          FindSetting(file, "recompute_granularity_per_stage_micro_batch")) {
    return ReadRecomputePerStage(file, *field, stages);
  }
  const std::optional<ConfigField> field =
      FindSetting(file, "recompute_granularity");
  if (!field.has_value()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(const std::string granularity, field->AsName());
  std::string method = "uniform";
  if (const std::optional<ConfigField> given =
          FindSetting(file, "recompute_method")) {
    TANGRAM_ASSIGN_OR_RETURN(method, given->AsName());
  }
  TANGRAM_ASSIGN_OR_RETURN(const int block,
                           SettingOr(file, "recompute_num_layers", 1));
  for (LayerStage& stage : stages) {
    stage.recomputes_attention_core = granularity == "selective";
    if (granularity != "full") continue;
    stage.recomputed = method == "block" ? std::min(block, stage.num_layers)
                                         : stage.num_layers;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportedPlan> ImportFromFlagScale(const ImportRequest& request) {
  TANGRAM_ASSIGN_OR_RETURN(const FrameworkFile* file,
                           FindConfig(request, "experiment"));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(file->content, file->name));
  const ConfigField root(value, file->name);
  TANGRAM_RETURN_IF_ERROR(root.CheckMapping());
  TANGRAM_ASSIGN_OR_RETURN(
      std::vector<LayerStage> stages,
      ReadMeshes(root, static_cast<size_t>(request.cluster.num_gpus())));
  TANGRAM_RETURN_IF_ERROR(
      ReadLayerSplit(root, request.model.num_layers() - 2, stages));
  TANGRAM_RETURN_IF_ERROR(ReadRecompute(root, stages));
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField microbatch,
      RequireSetting(root, "micro_batch_size", "a positive integer"));
  TANGRAM_ASSIGN_OR_RETURN(const int microbatch_size,
                           microbatch.AsInt(1, kMaxNumber));

  TANGRAM_ASSIGN_OR_RETURN(ImportedPlan imported,
                           PlaceLayerStages(request, stages));
  // Samples of one replica of the first mesh.
  TANGRAM_ASSIGN_OR_RETURN(imported.plan.pipeline_microbatch_size,
                           Multiply("micro_batch_size x dp", microbatch_size,
                                    stages.front().parallelism.dp_degree));
  TrainingOptions& training = imported.training;
  TANGRAM_ASSIGN_OR_RETURN(
      training.global_batch_size,
      SettingOr(root, "global_batch_size", training.global_batch_size));
  TANGRAM_ASSIGN_OR_RETURN(
      training.sequence_length,
      SettingOr(root, "seq_length", training.sequence_length));
  return imported;
}

}  // namespace tangram
