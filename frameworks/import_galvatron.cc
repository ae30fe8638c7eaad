#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/domain/recompute_masks.h"
#include "frameworks/galvatron_runtime.h"
#include "frameworks/import_parts.h"
#include "frameworks/lower_plan.h"
#include "frameworks/settings.h"
#include "frameworks/targets.h"

// Imports a strategy of Hetu-Galvatron (2026-06) and its runtime.yaml.
namespace tangram {
namespace {

// Galvatron's names of data parallelism, and the ZeRO stages that they are.
constexpr absl::string_view kDataParallelTypes[] = {"ddp", "zero2", "zero3"};
constexpr int kZeroStages[] = {0, 2, 3};

// Reads "4,4,2", a number for each of `count` layers. Without the key it is
// `fallback` for all.
absl::StatusOr<std::vector<int>> ReadLayers(Settings& root,
                                            absl::string_view key, int count,
                                            std::optional<int> fallback,
                                            int min, int max) {
  const std::string expected = absl::StrCat(
      count, " numbers of at least ", min,
      max < kMaxNumber ? absl::StrCat(" and at most ", max) : "", ": \"1,1\"");
  const std::optional<ConfigField> field = root.Find(key);
  if (!field.has_value()) {
    if (fallback.has_value()) return std::vector<int>(count, *fallback);
    return root.Require(key, expected).status();
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::string text, field->AsNote());
  std::vector<int> values;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int value = 0;
    if (!absl::SimpleAtoi(part, &value) || value < min || value > max) {
      return field->Error(expected);
    }
    values.push_back(value);
  }
  if (static_cast<int>(values.size()) == count) return values;
  return field->Error(expected);
}

absl::StatusOr<int> ReadInt(Settings& root, absl::string_view key) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           root.Require(key, "a positive integer"));
  return field.AsInt(1, kMaxNumber);
}

// The lists of a strategy, with an entry for each layer.
struct LayerLists {
  std::vector<int> tp, cp, ep, zero3, recompute;
};

// Ulysses keeps whole weights, and experts with another tp than the rest are
// split otherwise: plans know neither.
absl::Status CheckOtherSplits(Settings& root, const ModelSpec& model,
                              const LayerLists& lists) {
  const int count = static_cast<int>(lists.tp.size());
  TANGRAM_RETURN_IF_ERROR(
      ReadLayers(root, "tp_consecutive_flags", count, std::nullopt, 0, 1)
          .status());
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> ulysses,
                           ReadLayers(root, "use_sp", count, 0, 0, 1));
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<int> expert_tp,
      ReadLayers(root, "tp_of_ep_sizes_enc", count, 1, 1, kMaxNumber));
  for (int l = 0; l < count; ++l) {
    if (ulysses[l] == 1 && lists.tp[l] > 1) {
      return root.Find("use_sp")->Error(
          "0 in all layers with tp, as plans do not know Ulysses");
    }
    if (!model.layers[l + 1].is_moe() || expert_tp[l] == lists.tp[l]) continue;
    const std::string expected =
        "the numbers of tp_sizes_enc, as experts of plans have the tp of "
        "their layer";
    const std::optional<ConfigField> field = root.Find("tp_of_ep_sizes_enc");
    return field.has_value()
               ? field->Error(expected)
               : root.Require("tp_of_ep_sizes_enc", expected).status();
  }
  return absl::OkStatus();
}

absl::StatusOr<LayerLists> ReadLists(Settings& root, const ModelSpec& model) {
  const int count = model.num_layers() - 2;
  LayerLists lists;
  TANGRAM_ASSIGN_OR_RETURN(lists.tp, ReadLayers(root, "tp_sizes_enc", count,
                                                std::nullopt, 1, kMaxNumber));
  TANGRAM_ASSIGN_OR_RETURN(
      lists.cp, ReadLayers(root, "cp_sizes_enc", count, 1, 1, kMaxNumber));
  TANGRAM_ASSIGN_OR_RETURN(
      lists.ep, ReadLayers(root, "ep_sizes_enc", count, 1, 1, kMaxNumber));
  TANGRAM_ASSIGN_OR_RETURN(
      lists.zero3, ReadLayers(root, "dp_types_enc", count, std::nullopt, 0, 1));
  TANGRAM_ASSIGN_OR_RETURN(lists.recompute,
                           ReadLayers(root, "checkpoint", count, 0, 0, 1));
  TANGRAM_RETURN_IF_ERROR(CheckOtherSplits(root, model, lists));
  return lists;
}

// Reads a name that the strategy may have and the runtime file else has.
absl::StatusOr<int> ReadChoice(Settings& root, absl::string_view key,
                               const std::string& fallback,
                               absl::Span<const absl::string_view> names) {
  const std::optional<ConfigField> field = root.Find(key);
  std::string name = fallback;
  if (field.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(name, field->AsName());
  }
  const auto found = absl::c_find(names, name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  const std::string expected =
      absl::StrCat("one of ", absl::StrJoin(names, ", "));
  return field.has_value()
             ? field->Error(expected)
             : FieldError(absl::StrCat("runtime.yaml: ", key), name, expected);
}

// Returns the degrees of the first of layers [first, last). Adds to `changes`
// the layers that differ from it.
StageParallelism ParallelismOf(const LayerLists& lists, int default_zero,
                               int first, int last, int& changes) {
  for (int l = first + 1; l < last; ++l) {
    changes +=
        lists.tp[l] != lists.tp[first] || lists.cp[l] != lists.cp[first] ||
        lists.ep[l] != lists.ep[first] || lists.zero3[l] != lists.zero3[first];
  }
  return {.tp_degree = lists.tp[first],
          .cp_degree = lists.cp[first],
          .ep_degree = lists.ep[first],
          .zero_stage = lists.zero3[first] == 1 ? 3 : default_zero};
}

// Sets dp, with which the stage fills its GPUs.
absl::Status SetDataParallel(int num_gpus, StageParallelism& p) {
  TANGRAM_ASSIGN_OR_RETURN(const int replica,
                           Multiply("tp x cp", p.tp_degree, p.cp_degree));
  if (num_gpus % replica != 0) {
    return FieldError(
        "tp_sizes_enc", absl::StrCat(p.tp_degree, " and cp ", p.cp_degree),
        absl::StrCat("divisors of the ", num_gpus, " GPUs of a stage"));
  }
  p.dp_degree = num_gpus / replica;
  return absl::OkStatus();
}

// Reads the layers of each stage. Without the setting, the last stage has what
// is left of an even split.
absl::StatusOr<std::vector<int>> ReadDivision(Settings& root, int num_layers,
                                              int num_stages) {
  TANGRAM_ASSIGN_OR_RETURN(std::vector<int> division,
                           ReadLayers(root, "pp_division", num_stages,
                                      num_layers / num_stages, 1, kMaxNumber));
  const std::optional<ConfigField> field = root.Find("pp_division");
  if (!field.has_value()) {
    division.back() = num_layers - (num_stages - 1) * division.front();
    return division;
  }
  int64_t sum = 0;
  for (const int layers : division) sum += layers;
  if (sum == num_layers) return division;
  return field->Error(
      absl::StrCat("numbers that add up to ", num_layers, ", not ", sum));
}

// Embedding and head of a plan run as the stage that holds them. Without
// vocab_sdp they have the default kind of data parallelism.
absl::Status NoteVocabulary(Settings& root, int default_zero,
                            const StageParallelism& first,
                            const StageParallelism& last,
                            std::vector<std::string>& notes) {
  const auto compare = [&](absl::string_view key, int fallback, int sharded,
                           int of_first, int of_last) -> absl::Status {
    TANGRAM_ASSIGN_OR_RETURN(const int value, root.Int(key, fallback));
    const int meaning = key != "vocab_sdp" ? value : value == 1 ? 3 : sharded;
    if (meaning == of_first && meaning == of_last) return absl::OkStatus();
    notes.push_back(absl::StrCat(
        key, " ", value,
        ": embedding and head are read with the degrees of their stages"));
    return absl::OkStatus();
  };
  TANGRAM_RETURN_IF_ERROR(
      compare("vtp", 1, 0, first.tp_degree, last.tp_degree));
  TANGRAM_RETURN_IF_ERROR(compare("vsp", 0, 0, 0, 0));
  TANGRAM_RETURN_IF_ERROR(
      compare("vcp", 1, 0, first.cp_degree, last.cp_degree));
  root.Find("embed_sdp");  // Galvatron's search writes it; nothing reads it.
  return compare("vocab_sdp", 0, default_zero, first.zero_stage,
                 last.zero_stage);
}

// Reads the batch and the number of microbatches.
absl::Status ReadBatch(Settings& root, ImportedPlan& imported) {
  TANGRAM_ASSIGN_OR_RETURN(const int batch, ReadInt(root, "global_bsz"));
  TANGRAM_ASSIGN_OR_RETURN(const int chunks, ReadInt(root, "chunks"));
  if (batch % chunks != 0) {
    return root.Find("chunks")->Error(
        absl::StrCat("a divisor of global_bsz, ", batch));
  }
  imported.training.global_batch_size = batch;
  imported.plan.pipeline_microbatch_size = batch / chunks;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportedPlan> ImportFromGalvatron(const ImportRequest& request) {
  TANGRAM_ASSIGN_OR_RETURN(const FrameworkFile* file,
                           FindConfig(request, "runtime.yaml"));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(file->content, file->name));
  const ConfigField field(value, file->name);
  TANGRAM_RETURN_IF_ERROR(field.CheckMapping());
  Settings root(field);
  const ModelSpec& model = request.model;
  const int num_layers = model.num_layers() - 2;
  TANGRAM_ASSIGN_OR_RETURN(const LayerLists lists, ReadLists(root, model));
  TANGRAM_ASSIGN_OR_RETURN(const int num_stages, ReadInt(root, "pp_deg"));
  TANGRAM_ASSIGN_OR_RETURN(const GpuList world, FindGpus(request));
  const int num_gpus = static_cast<int>(world.gpus.size());
  if (num_stages > num_layers || num_gpus % num_stages != 0) {
    return root.Find("pp_deg")->Error(absl::StrCat("a divisor of the ",
                                                   num_gpus, " GPUs, at most ",
                                                   num_layers, " layers"));
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> division,
                           ReadDivision(root, num_layers, num_stages));
  std::vector<std::string> notes;
  TANGRAM_ASSIGN_OR_RETURN(const GalvatronRuntime runtime,
                           ReadGalvatronRuntime(request, notes));
  TANGRAM_ASSIGN_OR_RETURN(
      const int zero, ReadChoice(root, "default_dp_type",
                                 runtime.default_dp_type, kDataParallelTypes));
  std::vector<LayerStage> stages(num_stages);
  int changes = 0;
  int first = 0;
  for (int i = 0; i < num_stages; ++i) {
    const int last = first + division[i];
    StageParallelism& p = stages[i].parallelism;
    p = ParallelismOf(lists, kZeroStages[zero], first, last, changes);
    TANGRAM_RETURN_IF_ERROR(SetDataParallel(num_gpus / num_stages, p));
    p.sequence_parallel = runtime.sequence_parallel;
    stages[i].num_layers = division[i];
    first = last;
  }
  if (changes > 0) {
    notes.push_back(absl::StrCat(changes,
                                 " layers have other degrees than the first of "
                                 "their stage; the first's are used"));
  }
  TANGRAM_RETURN_IF_ERROR(NoteVocabulary(root, kZeroStages[zero],
                                         stages.front().parallelism,
                                         stages.back().parallelism, notes));
  TANGRAM_ASSIGN_OR_RETURN(ImportedPlan imported,
                           PlaceLayerStages(request, stages, world));
  absl::c_move(notes, std::back_inserter(imported.notes));
  imported.training = runtime.training;
  std::vector<OpMask> masks(model.layers.size(), kRecomputeNone);
  for (int l = 0; l < num_layers; ++l) {
    if (lists.recompute[l] == 1)
      masks[l + 1] = WholeLayerMask(model.layers[l + 1]);
  }
  SetLayerMasks(masks, imported.plan);
  TANGRAM_RETURN_IF_ERROR(ReadBatch(root, imported));
  TANGRAM_ASSIGN_OR_RETURN(
      const int schedule,
      ReadChoice(root, "pipeline_type", runtime.pipeline_type,
                 {"gpipe", "pipedream_flush"}));
  if (schedule == 0) imported.plan.schedule = PipelineSchedule::kGpipe;
  NoteNames("not read by Galvatron, nor here:", root.Unread(), imported.notes);
  return imported;
}

}  // namespace tangram
