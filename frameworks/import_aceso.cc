#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "frameworks/flexpipe_operators.h"
#include "frameworks/import_parts.h"
#include "frameworks/lower_plan.h"
#include "frameworks/read_training_options.h"
#include "frameworks/settings.h"
#include "frameworks/targets.h"

namespace tangram {
namespace {

// The lists of the file, with an entry for each stage.
struct FlexPipeStages {
  std::vector<int> num_ops;
  std::vector<std::vector<int>> tp;
  std::vector<std::vector<int>> dp;
  std::vector<std::vector<int>> recomputed;  // Empty: nothing.
};

// Reads a list for each stage, with a number for each of its operators.
absl::StatusOr<std::vector<std::vector<int>>> ReadPerOperator(
    Settings& root, absl::string_view key, int min,
    const std::vector<int>& num_ops) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           root.Require(key, "a list for each stage"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> stages,
                           field.Elements());
  if (stages.size() != num_ops.size()) {
    return field.Error(absl::StrCat(num_ops.size(), " lists, one a stage"));
  }
  std::vector<std::vector<int>> values;
  for (size_t i = 0; i < stages.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(values.emplace_back(), AsInts(stages[i], min));
    if (static_cast<int>(values[i].size()) == num_ops[i]) continue;
    return stages[i].Error(absl::StrCat(num_ops[i],
                                        " numbers, one for each "
                                        "operator of the stage"));
  }
  return values;
}

// Reads all lists. Operators of a stage without checkpoint_activations are not
// recomputed.
absl::StatusOr<FlexPipeStages> ReadStages(Settings& root,
                                          const ModelSpec& model) {
  FlexPipeStages stages;
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField num_ops,
      root.Require("num_ops_in_each_stage", "a number for each stage"));
  TANGRAM_ASSIGN_OR_RETURN(stages.num_ops, AsInts(num_ops, /*min=*/1));
  int64_t all = 0;
  for (const int ops : stages.num_ops) all += ops;
  const size_t expected = FlexPipeOrder(model).size();
  if (stages.num_ops.empty() || all != static_cast<int64_t>(expected)) {
    return num_ops.Error(absl::StrCat("numbers that add up to the ", expected,
                                      " operators of ", model.name));
  }
  TANGRAM_ASSIGN_OR_RETURN(
      stages.tp, ReadPerOperator(root, "model_parallel_size_of_each_op",
                                 /*min=*/1, stages.num_ops));
  TANGRAM_ASSIGN_OR_RETURN(
      stages.dp, ReadPerOperator(root, "data_parallel_size_of_each_op",
                                 /*min=*/1, stages.num_ops));
  TANGRAM_ASSIGN_OR_RETURN(
      stages.recomputed,
      ReadPerOperator(root, "recompute_ops", /*min=*/0, stages.num_ops));
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField checkpoint,
      root.Require("checkpoint_activations", "true or false for each stage"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> checkpointed,
                           checkpoint.Elements());
  if (checkpointed.size() != stages.num_ops.size()) {
    return checkpoint.Error(
        absl::StrCat(stages.num_ops.size(), ", one a stage"));
  }
  for (size_t i = 0; i < stages.num_ops.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(const bool used, checkpointed[i].AsBool());
    if (!used)
      std::fill(stages.recomputed[i].begin(), stages.recomputed[i].end(), 0);
  }
  return stages;
}

// Returns the tp and dp that most operators of a stage have.
std::pair<int, int> UsualDegrees(const std::vector<int>& tp,
                                 const std::vector<int>& dp) {
  std::map<std::pair<int, int>, int> counts;
  for (size_t i = 0; i < tp.size(); ++i) ++counts[{tp[i], dp[i]}];
  return std::max_element(
             counts.begin(), counts.end(),
             [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// Returns our cut for a cut before FlexPipe operator `index`. The attention
// core, four of their operators, is not cut; the nearer end is taken.
OperatorCut NearestCut(const ModelSpec& model,
                       const std::vector<OperatorCut>& order, int index) {
  if (index == static_cast<int>(order.size())) return {model.num_layers(), 0};
  const OperatorCut cut = order[index];
  const int offset = index - FlexPipeIndex(model, cut);
  if (2 * offset < FlexPipeOps(OperatorsOf(model.layers[cut.layer])[cut.op])) {
    return cut;
  }
  return {cut.layer, cut.op + 1};
}

// Converts stages to ours, and counts the settings that had to change.
class PlanReader {
 public:
  explicit PlanReader(const ModelSpec& model)
      : model_(model), order_(FlexPipeOrder(model)) {}

  // `begin` is in FlexPipe operators.
  StagePlan ReadStage(const FlexPipeStages& stages, size_t i, int begin) {
    const int end = begin + stages.num_ops[i];
    const auto [tp, dp] = UsualDegrees(stages.tp[i], stages.dp[i]);
    StagePlan stage{.begin = NearestCut(model_, order_, begin),
                    .end = NearestCut(model_, order_, end),
                    .parallelism = {.tp_degree = tp, .dp_degree = dp}};
    rounded_cuts_ += end < static_cast<int>(order_.size()) &&
                     FlexPipeIndex(model_, stage.end) != end;
    for (int o = 0; o < stages.num_ops[i]; ++o) {
      other_degrees_ += stages.tp[i][o] != tp || stages.dp[i][o] != dp;
    }
    SetRecompute(stages.recomputed[i], begin, stage);
    return stage;
  }

  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    if (rounded_cuts_ > 0) {
      notes.push_back(absl::StrCat(rounded_cuts_,
                                   " cuts inside the attention core are at "
                                   "its nearer end"));
    }
    if (other_degrees_ > 0) {
      notes.push_back(absl::StrCat(
          other_degrees_,
          " operators have other degrees than most of their stage; the "
          "stage's are used"));
    }
    if (partly_recomputed_ > 0) {
      notes.push_back(absl::StrCat(
          partly_recomputed_,
          " attention cores are recomputed in part; from half of its "
          "operators on, a core is recomputed whole"));
    }
    return notes;
  }

 private:
  // Recomputes an operator of ours if at least half of its FlexPipe operators
  // are recomputed.
  void SetRecompute(const std::vector<int>& recomputed, int begin,
                    StagePlan& stage) {
    stage.recompute = {{.num_layers = LayersTouched(stage.begin, stage.end)}};
    const auto is_recomputed = [&](int index) {
      const int offset = index - begin;
      return offset >= 0 && offset < static_cast<int>(recomputed.size()) &&
             recomputed[offset] != 0;
    };
    ChangeMasks(
        [&](int layer, OpMask) {
          OpMask mask = kRecomputeNone;
          const auto ops = OperatorsOf(model_.layers[layer]);
          int index = FlexPipeIndex(model_, {layer, 0});
          for (size_t op = 0; op < ops.size(); ++op) {
            int count = 0;
            const int parts = FlexPipeOps(ops[op]);
            for (int k = 0; k < parts; ++k) count += is_recomputed(index++);
            if (2 * count >= parts) mask |= OpMask{1} << op;
            partly_recomputed_ += count > 0 && count < parts;
          }
          return mask;
        },
        stage);
  }

  const ModelSpec& model_;
  const std::vector<OperatorCut> order_;
  int rounded_cuts_ = 0;
  int other_degrees_ = 0;
  int partly_recomputed_ = 0;
};

// FlexPipe asserts none of these, but builds the model and the groups of ranks
// from them.
absl::Status CheckAcesoShape(Settings& root, const ModelSpec& model) {
  const std::string owner = absl::StrCat("the model ", model.name);
  const LayerSpec& layer = model.layers[1];
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField name,
                           root.Require("model_name", "gpt"));
  TANGRAM_ASSIGN_OR_RETURN(const std::string kind, name.AsText());
  if (kind != "gpt") return name.Error("gpt, as in the model");
  root.Find("model_size");  // A name, for people.
  const std::pair<const char*, int> numbers[] = {
      {"num_layers", model.num_layers() - 2},
      {"hidden_size", layer.hidden_size},
      {"num_attention_heads", layer.num_heads},
      {"max_position_embeddings",
       model.layers.front().max_position_embeddings}};
  for (const auto& [key, expected] : numbers) {
    TANGRAM_RETURN_IF_ERROR(root.Require(key, "a positive integer").status());
    TANGRAM_RETURN_IF_ERROR(root.CheckInt(key, std::nullopt, expected, owner));
  }
  return absl::OkStatus();
}

absl::Status CheckGpus(Settings& root, const FlexPipeStages& stages) {
  const int num_stages = static_cast<int>(stages.num_ops.size());
  TANGRAM_RETURN_IF_ERROR(
      root.Require("num_stages", "a positive integer").status());
  TANGRAM_RETURN_IF_ERROR(root.CheckInt("num_stages", std::nullopt, num_stages,
                                        "num_ops_in_each_stage"));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           root.Require("num_gpus", "a number for each stage"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> gpus,
                           AsInts(field, /*min=*/1));
  if (gpus.size() != stages.num_ops.size()) {
    return field.Error(absl::StrCat(num_stages, " numbers, one a stage"));
  }
  for (int i = 0; i < num_stages; ++i) {
    for (int o = 0; o < stages.num_ops[i]; ++o) {
      TANGRAM_ASSIGN_OR_RETURN(
          const int product,
          Multiply("model_parallel_size x data_parallel_size", stages.tp[i][o],
                   stages.dp[i][o]));
      if (product == gpus[i]) continue;
      return field.Error(
          absl::StrCat("tp x dp of every operator; stage ", i, " has ", gpus[i],
                       " GPUs, and an operator with tp ", stages.tp[i][o],
                       " and dp ", stages.dp[i][o]));
    }
  }
  return absl::OkStatus();
}

// Notes the variants of operators and the resharding inside of stages, of which
// plans know nothing.
absl::Status NoteVariants(Settings& root, const FlexPipeStages& stages,
                          std::vector<std::string>& notes) {
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<std::vector<int>> algorithms,
      ReadPerOperator(root, "algo_of_each_op", /*min=*/0, stages.num_ops));
  int others = 0;
  for (const std::vector<int>& stage : algorithms) {
    others += static_cast<int>(stage.size()) -
              static_cast<int>(std::count(stage.begin(), stage.end(), 0));
  }
  if (others > 0) {
    notes.push_back(absl::StrCat(
        "algo_of_each_op: ", others,
        " operators are split by another algorithm than 0, which is read"));
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField field,
      root.Require("resharding_stages", "true or false for each stage"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> resharding,
                           field.Elements());
  if (resharding.size() != stages.num_ops.size()) {
    return field.Error(absl::StrCat(stages.num_ops.size(), ", one a stage"));
  }
  int resharded = 0;
  for (const ConfigField& stage : resharding) {
    TANGRAM_ASSIGN_OR_RETURN(const bool used, stage.AsBool());
    resharded += used;
  }
  if (resharded > 0) {
    notes.push_back(absl::StrCat("resharding_stages: resharding inside ",
                                 resharded, " stages is not read"));
  }
  return absl::OkStatus();
}

absl::Status ReadBatch(Settings& root, const ImportRequest& request,
                       const FlexPipeStages& stages, ImportedPlan& imported) {
  const std::pair<const char*, int*> numbers[] = {
      {"micro_batch_size", &imported.plan.pipeline_microbatch_size},
      {"global_batch_size", &imported.training.global_batch_size},
      {"seq_length", &imported.training.sequence_length}};
  for (const auto& [key, value] : numbers) {
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                             root.Require(key, "a positive integer"));
    TANGRAM_ASSIGN_OR_RETURN(*value, field.AsInt(1, kMaxNumber));
  }
  const int microbatch = imported.plan.pipeline_microbatch_size;
  if (imported.training.global_batch_size % microbatch != 0) {
    return root.Find("micro_batch_size")
        ->Error(absl::StrCat("a divisor of global_batch_size, ",
                             imported.training.global_batch_size));
  }
  for (const std::vector<int>& stage : stages.dp) {
    for (const int dp : stage) {
      if (microbatch % dp == 0) continue;
      return root.Find("micro_batch_size")
          ->Error(absl::StrCat("a multiple of every dp, ", dp, " among them"));
    }
  }
  return CheckSequenceLength(imported.training.sequence_length,
                             request.training.sequence_length,
                             [&](absl::string_view expected) {
                               return root.Find("seq_length")->Error(expected);
                             });
}

}  // namespace

absl::StatusOr<ImportedPlan> ImportFromAceso(const ImportRequest& request) {
  TANGRAM_ASSIGN_OR_RETURN(const FrameworkFile* file, FindConfig(request, ""));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(file->content, file->name));
  const ConfigField field(value, file->name);
  TANGRAM_RETURN_IF_ERROR(field.CheckMapping());
  Settings root(field);
  TANGRAM_ASSIGN_OR_RETURN(const FlexPipeStages stages,
                           ReadStages(root, request.model));
  TANGRAM_RETURN_IF_ERROR(CheckAcesoShape(root, request.model));
  TANGRAM_RETURN_IF_ERROR(CheckGpus(root, stages));
  ImportedPlan imported{.training = request.training};
  PlanReader reader(request.model);
  int begin = 0;
  for (size_t i = 0; i < stages.num_ops.size(); ++i) {
    imported.plan.stages.push_back(
        {.plan = reader.ReadStage(stages, i, begin)});
    begin += stages.num_ops[i];
  }
  imported.notes = reader.Notes();
  TANGRAM_RETURN_IF_ERROR(NoteVariants(root, stages, imported.notes));
  TANGRAM_RETURN_IF_ERROR(ReadBatch(root, request, stages, imported));
  TANGRAM_ASSIGN_OR_RETURN(const GpuList gpus, FindGpus(request));
  TANGRAM_RETURN_IF_ERROR(PlaceStages(gpus, imported));
  NoteNames("not read by FlexPipe, nor here:", root.Unread(), imported.notes);
  return imported;
}

}  // namespace tangram
