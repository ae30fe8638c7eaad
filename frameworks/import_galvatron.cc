#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "frameworks/import_parts.h"
#include "frameworks/lower_plan.h"
#include "frameworks/targets.h"

namespace tangram {
namespace {

// Reads "4,4,2", a number for each of `count` layers. Without the key it is
// `fallback` for all.
absl::StatusOr<std::vector<int>> ReadLayers(const ConfigField& root,
                                            absl::string_view key, int count,
                                            std::optional<int> fallback) {
  const std::optional<ConfigField> field = root.Find(key);
  const std::string expected = absl::StrCat(count, " numbers: \"1,1,2\"");
  if (!field.has_value()) {
    if (fallback.has_value()) return std::vector<int>(count, *fallback);
    return root.MissingError(key, expected);
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::string text, field->AsNote());
  std::vector<int> values;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int value = 0;
    if (!absl::SimpleAtoi(part, &value) || value < 0 || value > kMaxNumber) {
      return field->Error(expected);
    }
    values.push_back(value);
  }
  if (static_cast<int>(values.size()) == count) return values;
  return field->Error(expected);
}

absl::StatusOr<int> ReadInt(const ConfigField& root, absl::string_view key) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           root.Require(key, "a positive integer"));
  return field.AsInt(1, kMaxNumber);
}

struct LayerLists {
  std::vector<int> tp, cp, ep, zero3, recompute;
  int default_zero = 0;
};

absl::StatusOr<LayerLists> ReadLists(const ConfigField& root, int count) {
  LayerLists lists;
  TANGRAM_ASSIGN_OR_RETURN(
      lists.tp, ReadLayers(root, "tp_sizes_enc", count, std::nullopt));
  TANGRAM_ASSIGN_OR_RETURN(lists.cp,
                           ReadLayers(root, "cp_sizes_enc", count, 1));
  TANGRAM_ASSIGN_OR_RETURN(lists.ep,
                           ReadLayers(root, "ep_sizes_enc", count, 1));
  TANGRAM_ASSIGN_OR_RETURN(lists.zero3,
                           ReadLayers(root, "dp_types_enc", count, 0));
  TANGRAM_ASSIGN_OR_RETURN(lists.recompute,
                           ReadLayers(root, "checkpoint", count, 0));
  if (const std::optional<ConfigField> field = root.Find("default_dp_type")) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string name, field->AsName());
    const std::map<std::string, int> stages = {
        {"ddp", 0}, {"zero2", 2}, {"zero3", 3}};
    const auto found = stages.find(name);
    if (found == stages.end()) return field->Error("ddp, zero2 or zero3");
    lists.default_zero = found->second;
  }
  return lists;
}

// Returns the degrees of the first of layers [first, last). Adds to `changes`
// the layers that differ from it.
StageParallelism ParallelismOf(const LayerLists& lists, int first, int last,
                               int& changes) {
  for (int l = first + 1; l < last; ++l) {
    changes +=
        lists.tp[l] != lists.tp[first] || lists.cp[l] != lists.cp[first] ||
        lists.ep[l] != lists.ep[first] || lists.zero3[l] != lists.zero3[first];
  }
  return {.tp_degree = lists.tp[first],
          .cp_degree = lists.cp[first],
          .ep_degree = lists.ep[first],
          .zero_stage = lists.zero3[first] == 1 ? 3 : lists.default_zero};
}

// Settings of Galvatron's other file, runtime.yaml.
struct RuntimeSettings {
  bool sequence_parallel = true;  // Default of the runtime.
  int sequence_length = 0;        // 0: not in the file.
};

absl::StatusOr<RuntimeSettings> ReadRuntime(const ImportRequest& request,
                                            std::vector<std::string>& notes) {
  RuntimeSettings settings{.sequence_length = request.training.sequence_length};
  for (const FrameworkFile& file : request.files) {
    if (!IsNamed(file, "runtime.yaml")) continue;
    TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                             ParseConfigText(file.content, file.name));
    const ConfigField root(value, file.name);
    if (const auto flag = FindSetting(root, "sequence_parallel")) {
      TANGRAM_ASSIGN_OR_RETURN(settings.sequence_parallel, flag->AsBool());
    }
    if (const auto length = FindSetting(root, "seq_length")) {
      TANGRAM_ASSIGN_OR_RETURN(settings.sequence_length,
                               length->AsInt(1, kMaxNumber));
    }
    return settings;
  }
  notes.push_back("no runtime.yaml: sequence parallelism is assumed");
  return settings;
}

absl::Status SetStage(const LayerLists& lists, int first, int last,
                      int num_gpus, int& changes, StagePlan& stage) {
  StageParallelism& p = stage.parallelism;
  p = ParallelismOf(lists, first, last, changes);
  TANGRAM_ASSIGN_OR_RETURN(const int replica,
                           Multiply("tp x cp", p.tp_degree, p.cp_degree));
  if (replica == 0 || num_gpus % replica != 0) {
    return FieldError(
        "tp_sizes_enc", absl::StrCat(p.tp_degree, " and cp ", p.cp_degree),
        absl::StrCat("divisors of the ", num_gpus, " GPUs of a stage"));
  }
  p.dp_degree = num_gpus / replica;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportedPlan> ImportFromGalvatron(const ImportRequest& request) {
  TANGRAM_ASSIGN_OR_RETURN(const FrameworkFile* file,
                           FindConfig(request, "runtime.yaml"));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(file->content, file->name));
  const ConfigField root(value, file->name);
  TANGRAM_RETURN_IF_ERROR(root.CheckMapping());
  const ModelSpec& model = request.model;
  const int num_layers = model.num_layers() - 2;
  TANGRAM_ASSIGN_OR_RETURN(const LayerLists lists, ReadLists(root, num_layers));
  TANGRAM_ASSIGN_OR_RETURN(const int num_stages, ReadInt(root, "pp_deg"));
  TANGRAM_ASSIGN_OR_RETURN(const GpuList world, FindGpus(request));
  const int num_gpus = static_cast<int>(world.gpus.size());
  if (num_stages > num_layers || num_gpus % num_stages != 0) {
    return root.Find("pp_deg")->Error(
        absl::StrCat("a divisor of the ", num_gpus, " GPUs"));
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<int> division,
      ReadLayers(root, "pp_division", num_stages, num_layers / num_stages));

  ImportedPlan imported{.training = request.training};
  TANGRAM_ASSIGN_OR_RETURN(const RuntimeSettings settings,
                           ReadRuntime(request, imported.notes));
  std::vector<LayerStage> stages(num_stages);
  int changes = 0;
  int first = 0;
  for (int i = 0; i < num_stages; ++i) {
    const int last = std::min(first + division[i], num_layers);
    if (first >= last) return root.Find("pp_division")->Error("all layers");
    StagePlan stage;
    TANGRAM_RETURN_IF_ERROR(
        SetStage(lists, first, last, num_gpus / num_stages, changes, stage));
    stage.parallelism.sequence_parallel = settings.sequence_parallel;
    stages[i] = {.num_layers = division[i], .parallelism = stage.parallelism};
    first = last;
  }
  std::vector<std::string> notes = std::move(imported.notes);
  TANGRAM_ASSIGN_OR_RETURN(imported, PlaceLayerStages(request, stages));
  std::move(imported.notes.begin(), imported.notes.end(),
            std::back_inserter(notes));
  if (changes > 0) {
    notes.push_back(absl::StrCat(changes,
                                 " layers have other degrees than the first of "
                                 "their stage; the first's are used"));
  }
  imported.notes = std::move(notes);
  std::vector<OpMask> masks(model.layers.size(), kRecomputeNone);
  for (int l = 0; l < num_layers; ++l) {
    if (lists.recompute[l] == 1)
      masks[l + 1] = WholeLayerMask(model.layers[l + 1]);
  }
  SetLayerMasks(masks, imported.plan);
  imported.training.sequence_length = settings.sequence_length;
  TANGRAM_ASSIGN_OR_RETURN(imported.training.global_batch_size,
                           ReadInt(root, "global_bsz"));
  TANGRAM_ASSIGN_OR_RETURN(const int chunks, ReadInt(root, "chunks"));
  imported.plan.pipeline_microbatch_size =
      imported.training.global_batch_size / chunks;
  const std::optional<ConfigField> schedule = root.Find("pipeline_type");
  if (schedule.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string name, schedule->AsName());
    if (name == "gpipe") imported.plan.schedule = PipelineSchedule::kGpipe;
  }
  return imported;
}

}  // namespace tangram
