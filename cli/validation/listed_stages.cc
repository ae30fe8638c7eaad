#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/validation/stage_parts.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// Reads a stage of Sailor: its layers, embedding and head counted, and
// replicas.
absl::StatusOr<RunStage> ReplicaStage(const MeasuredRun& run,
                                      const ModelSpec& model,
                                      const ConfigField& stage,
                                      OperatorCut begin, int layers) {
  StageParallelism parallelism = ParallelismOf(run);
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField list,
      stage.Require("replicas", "the replicas of the stage"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> replicas,
                           list.Elements());
  std::vector<RunStage::Ranks> ranks;
  for (const ConfigField& replica : replicas) {
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField gpu,
                             replica.Require("gpu", "a GPU"));
    TANGRAM_ASSIGN_OR_RETURN(const std::string type, gpu.AsText());
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField tp,
                             replica.Require("tp", "its degree"));
    TANGRAM_ASSIGN_OR_RETURN(const int degree, tp.AsInt(1, kMaxDegree));
    if (!ranks.empty() && ranks.back().count != degree) {
      return absl::UnimplementedError(
          "plan_json: replicas of one stage with different tp");
    }
    ranks.push_back({type, degree});
  }
  if (ranks.empty())
    return Contradiction("plan_json: a stage without replicas");
  parallelism.tp_degree = ranks.front().count;
  parallelism.dp_degree = static_cast<int>(ranks.size());
  RunStage result = MakeStage(model, begin, {begin.layer + layers, 0},
                              parallelism, RecomputeOf(run));
  result.ranks = std::move(ranks);
  return result;
}

// Converts Aceso's operator index to our cut. Aceso counts 13 operators a
// layer, one of the embedding before them and two of the head after them. Cuts
// inside the attention core move to its nearer end.
OperatorCut CutOfAcesoOperator(int index, const ModelSpec& model) {
  constexpr int kPerLayer = 13;
  // Our operator for each of Aceso's; 2 is the attention core.
  constexpr int kOpOf[kPerLayer] = {0, 1, 2, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9};
  if (index <= 0) return {0, 0};
  const int layer = (index - 1) / kPerLayer;
  const int last_layer = model.num_layers() - 1;
  if (layer + 1 < last_layer) {
    return {layer + 1, kOpOf[(index - 1) % kPerLayer]};
  }
  const int in_head = index - 1 - (last_layer - 1) * kPerLayer;
  return in_head >= 2 ? OperatorCut{last_layer + 1, 0}
                      : OperatorCut{last_layer, in_head};
}

absl::StatusOr<int> OnlyDegree(const ConfigField& stage,
                               absl::string_view key) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField list,
                           stage.Require(key, "the stage's degrees"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> degrees,
                           list.Elements());
  if (degrees.size() != 1) {
    return absl::UnimplementedError(
        absl::StrCat("plan_json: several ", key, " degrees in one stage"));
  }
  return degrees[0].AsInt(1, kMaxDegree);
}

// Memory that was measured on a stage of Aceso. Some runs lack some ranks.
constexpr absl::string_view kStageMemory = "max_reserved_mib";

absl::StatusOr<RunStage> AcesoStage(const MeasuredRun& run,
                                    const ModelSpec& model,
                                    const ConfigField& stage, int begin_op,
                                    int num_ops) {
  StageParallelism parallelism = ParallelismOf(run);
  TANGRAM_ASSIGN_OR_RETURN(parallelism.tp_degree, OnlyDegree(stage, "tp"));
  TANGRAM_ASSIGN_OR_RETURN(parallelism.dp_degree, OnlyDegree(stage, "dp"));
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField field,
      stage.Require("recompute_ops_frac", "the share recomputed"));
  TANGRAM_ASSIGN_OR_RETURN(const double share, field.AsNumber(0, 1));
  RunStage result{.plan = {.begin = CutOfAcesoOperator(begin_op, model),
                           .end = CutOfAcesoOperator(begin_op + num_ops, model),
                           .parallelism = parallelism},
                  .memory_measured = stage.Find(kStageMemory).has_value()};
  result.plan.recompute =
      AcesoRecompute(model, result.plan, run.sequence_length, begin_op, num_ops,
                     static_cast<int>(std::lround(share * num_ops)));
  return result;
}

// Reads the fractions of weights, gradients, optimizer state and activations.
absl::StatusOr<HostOffload> MistOffload(const ConfigField& stage) {
  HostOffload offload;
  const auto list = stage.Find("offload_w_g_o_a");
  if (!list.has_value()) return offload;
  double* const values[] = {&offload.weights, &offload.gradients,
                            &offload.optimizer, &offload.activations};
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> shares,
                           list->Elements());
  if (shares.size() != std::size(values)) return list->Error("four fractions");
  for (size_t i = 0; i < shares.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(*values[i], shares[i].AsNumber(0, 1));
  }
  return offload;
}

absl::StatusOr<RunStage> MistStage(const MeasuredRun& run,
                                   const ModelSpec& model,
                                   const ConfigField& stage, OperatorCut begin,
                                   OperatorCut end) {
  StageParallelism parallelism = ParallelismOf(run);
  const auto read = [&stage](absl::string_view key) -> absl::StatusOr<int> {
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                             stage.Require(key, "a number"));
    return field.AsInt(0, kMaxDegree);
  };
  TANGRAM_ASSIGN_OR_RETURN(parallelism.tp_degree, read("tp"));
  TANGRAM_ASSIGN_OR_RETURN(parallelism.dp_degree, read("dp"));
  TANGRAM_ASSIGN_OR_RETURN(const int recomputed, read("ckpt_layers"));
  RunStage made =
      MakeStage(model, begin, end, parallelism, Recompute::kAll, recomputed);
  TANGRAM_ASSIGN_OR_RETURN(made.plan.offload, MistOffload(stage));
  return made;
}

}  // namespace

absl::StatusOr<RunStages> ListedStages(const MeasuredRun& run,
                                       const ModelSpec& model,
                                       const ConfigField& list) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           list.Elements());
  RunStages result;
  OperatorCut begin{0, 0};
  int begin_op = 0;
  for (const ConfigField& stage : elements) {
    const bool last = &stage == &elements.back();
    if (const auto ops = stage.Find("ops")) {
      TANGRAM_ASSIGN_OR_RETURN(const int num_ops, ops->AsInt(1, kMaxDegree));
      TANGRAM_ASSIGN_OR_RETURN(
          RunStage made, AcesoStage(run, model, stage, begin_op, num_ops));
      result.stages.push_back(std::move(made));
      begin_op += num_ops;
      continue;
    }
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                             stage.Require("layers", "the number of layers"));
    TANGRAM_ASSIGN_OR_RETURN(const int layers, field.AsInt(1, kMaxDegree));
    if (stage.Find("replicas")) {
      if (begin.layer + layers > model.num_layers()) {
        return Contradiction("plan_json: more layers than the model has");
      }
      TANGRAM_ASSIGN_OR_RETURN(RunStage made,
                               ReplicaStage(run, model, stage, begin, layers));
      result.stages.push_back(std::move(made));
    } else {
      const OperatorCut end{
          last ? model.num_layers()
               : std::min(model.num_layers(),
                          begin.layer + layers + (begin.layer == 0 ? 1 : 0)),
          0};
      TANGRAM_ASSIGN_OR_RETURN(RunStage made,
                               MistStage(run, model, stage, begin, end));
      result.stages.push_back(std::move(made));
    }
    begin = result.stages.back().plan.end;
  }
  return result;
}

}  // namespace tangram
