#include "common/validation/run_stages.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/config/config_field.h"
#include "common/config/document.h"
#include "common/validation/runtime_habits.h"

namespace tangram {
namespace {

constexpr int kMaxDegree = 1 << 20;

OpMask AllOperators(const LayerSpec& layer) {
  return (OpMask{1} << OperatorsOf(layer).size()) - 1;
}

OpMask AttentionCoreAlone(const LayerSpec& layer) {
  const auto ops = OperatorsOf(layer);
  const auto it = std::find(ops.begin(), ops.end(), OpKind::kAttentionCore);
  return it == ops.end() ? kRecomputeNone
                         : OpMask{1} << static_cast<int>(it - ops.begin());
}

enum class Recompute { kNone, kSelective, kAll };

Recompute RecomputeOf(const MeasuredRun& run) {
  if (absl::StartsWith(run.recompute, "full")) return Recompute::kAll;
  if (absl::StartsWith(run.recompute, "selective")) {
    return Recompute::kSelective;
  }
  const bool unsaid = run.recompute.empty();
  return unsaid && HabitsOf(run.framework).recompute_all ? Recompute::kAll
                                                         : Recompute::kNone;
}

int ZeroStageOf(const MeasuredRun& run) {
  if (run.zero.empty()) return HabitsOf(run.framework).zero_stage;
  if (absl::StartsWith(run.zero, "none")) return 0;
  const char first = run.zero[0];
  if (first >= '0' && first <= '3') return first - '0';
  return absl::StrContains(run.zero, "optimizer+grad") ? 2 : 3;
}

StageParallelism ParallelismOf(const MeasuredRun& run) {
  StageParallelism p{.tp_degree = std::max(1, run.tp_degree),
                     .cp_degree = std::max(1, run.cp_degree),
                     .dp_degree = std::max(1, run.dp_degree),
                     .ep_degree = std::max(1, run.ep_degree),
                     .zero_stage = ZeroStageOf(run)};
  p.sequence_parallel =
      p.tp_degree > 1 &&
      run.sequence_parallel.value_or(HabitsOf(run.framework).sequence_parallel);
  return p;
}

// A recompute run for each layer of [begin, end), equal neighbours joined: the
// first `recomputed` transformer layers whole, or the attention core of all.
std::vector<RecomputeRun> RecomputeRuns(const ModelSpec& model,
                                        OperatorCut begin, OperatorCut end,
                                        Recompute recompute, int recomputed) {
  std::vector<RecomputeRun> runs;
  for (int l = begin.layer; l < begin.layer + LayersTouched(begin, end); ++l) {
    const LayerSpec& layer = model.layers[l];
    OpMask mask = kRecomputeNone;
    if (layer.kind == LayerKind::kTransformer) {
      if (recompute == Recompute::kSelective) mask = AttentionCoreAlone(layer);
      if (recompute == Recompute::kAll && recomputed > 0) {
        mask = AllOperators(layer);
        --recomputed;
      }
    }
    if (runs.empty() || runs.back().mask != mask) runs.push_back({0, mask});
    ++runs.back().num_layers;
  }
  return runs;
}

RunStage MakeStage(const ModelSpec& model, OperatorCut begin, OperatorCut end,
                   const StageParallelism& parallelism, Recompute recompute,
                   int recomputed = kMaxDegree) {
  return {.plan = {.begin = begin,
                   .end = end,
                   .parallelism = parallelism,
                   .recompute = RecomputeRuns(model, begin, end, recompute,
                                              recomputed)}};
}

absl::Status Contradiction(absl::string_view what) {
  return absl::InvalidArgumentError(what);
}

// Transformer layers of each of `chunks` chunks.
absl::StatusOr<std::vector<int>> SplitLayers(const MeasuredRun& run,
                                             int num_layers, int chunks) {
  if (num_layers + 2 < chunks) {
    return Contradiction(absl::StrCat("pp: ", chunks,
                                      " chunks; expected at most ",
                                      num_layers + 2, ", the model's layers"));
  }
  std::vector<int> layers(chunks, num_layers / chunks);
  const int left = num_layers % chunks;
  if (left == 0) return layers;
  // Megatron-LM counts the embedding and the head as a layer each.
  if ((num_layers + 2) % chunks == 0) {
    layers.assign(chunks, (num_layers + 2) / chunks);
    --layers.front();
    --layers.back();
    return layers;
  }
  if (HabitsOf(run.framework).fills_first_stages) {
    const int most = (num_layers + chunks - 1) / chunks;
    for (int c = 0, rest = num_layers; c < chunks; ++c) {
      layers[c] = std::max(1, std::min(most, rest - (chunks - 1 - c)));
      rest -= layers[c];
    }
    return layers;
  }
  // The ends carry the embedding and the head: the middle takes the rest.
  for (int i = 0; i < left; ++i) ++layers[(chunks - left) / 2 + i];
  return layers;
}

absl::StatusOr<RunStages> EvenStages(const MeasuredRun& run,
                                     const ModelSpec& model) {
  const StageParallelism parallelism = ParallelismOf(run);
  const int pp = std::max(1, run.pp_degree);
  const int vp = pp > 1 ? std::max(1, run.virtual_stages) : 1;
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> layers,
                           SplitLayers(run, model.num_layers() - 2, pp * vp));
  RunStages result{.virtual_stages = vp};
  int begin = 0;
  for (int c = 0; c < pp * vp; ++c) {
    int end = begin + layers[c] + (c == 0 ? 1 : 0);
    if (c == pp * vp - 1) end = model.num_layers();
    result.stages.push_back(
        MakeStage(model, {begin, 0}, {end, 0}, parallelism, RecomputeOf(run)));
    begin = end;
  }
  return result;
}

// DeepSpeed's pipeline counts Megatron's conversions as layers: [to fp16,
// embedding, transpose] before the first transformer layer, [transpose, norm,
// head] after the last.
int LayerOfPipeIndex(int index, const ModelSpec& model) {
  constexpr int kBeforeFirst = 3;
  const int num_pipe_layers = model.num_layers() - 2 + 2 * kBeforeFirst;
  if (index <= 1) return 0;
  if (index >= num_pipe_layers) return model.num_layers();
  return std::clamp(index - kBeforeFirst + 1, 1, model.num_layers() - 1);
}

absl::StatusOr<RunStages> DeepSpeedStages(const MeasuredRun& run,
                                          const ModelSpec& model,
                                          const ConfigField& root,
                                          const ConfigField& boundaries) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> cuts,
                           boundaries.Elements());
  const StageParallelism parallelism = ParallelismOf(run);
  RunStages result;
  OperatorCut begin{0, 0};
  for (size_t i = 1; i < cuts.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(const int index, cuts[i].AsInt(0, kMaxDegree));
    const OperatorCut end{LayerOfPipeIndex(index, model), 0};
    // A stage of conversions alone runs nothing that is modelled.
    if (end <= begin) {
      return absl::UnimplementedError(
          absl::StrCat("plan_json: stage ", i - 1, " holds no layer"));
    }
    result.stages.push_back(
        MakeStage(model, begin, end, parallelism, RecomputeOf(run)));
    begin = end;
  }
  const std::optional<ConfigField> nodes = root.Find("nodes");
  if (!nodes) return result;
  std::vector<std::string> rank_gpus;
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           nodes->Elements());
  for (const ConfigField& node : elements) {
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField gpu,
                             node.Require("gpu", "a GPU"));
    TANGRAM_ASSIGN_OR_RETURN(const std::string type, gpu.AsText());
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField count,
                             node.Require("gpus", "their number"));
    TANGRAM_ASSIGN_OR_RETURN(const int gpus, count.AsInt(1, kMaxDegree));
    rank_gpus.insert(rank_gpus.end(), gpus, type);
  }
  size_t rank = 0;
  for (RunStage& stage : result.stages) {
    for (int i = 0; i < parallelism.num_gpus(); ++i, ++rank) {
      if (rank >= rank_gpus.size()) {
        return Contradiction("plan_json: fewer GPUs than the stages use");
      }
      stage.ranks.push_back({rank_gpus[rank], 1});
    }
  }
  return result;
}

// Sailor: layers of a stage, embedding and head counted, and its replicas.
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

// Aceso counts 13 operators a layer, one embedding before and two of the head
// after them. Cuts inside the attention core go to its nearer end.
OperatorCut CutOfAcesoOperator(int index, const ModelSpec& model) {
  constexpr int kPerLayer = 13;
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

// Which operators Aceso recomputed is not published, only how many. It takes
// those that keep most first: the attention core, four of its operators, then
// the activation, then the others; each in as many layers as the number allows.
std::vector<RecomputeRun> AcesoRecompute(const ModelSpec& model,
                                         OperatorCut begin, OperatorCut end,
                                         int recomputed) {
  constexpr struct {
    int op;      // Ours, of a dense layer.
    int weight;  // Operators of Aceso's.
  } kOrder[] = {{2, 4}, {7, 1}, {8, 1}, {6, 1}, {5, 1},
                {9, 1}, {1, 1}, {3, 1}, {4, 1}, {0, 1}};
  const int num_layers = LayersTouched(begin, end);
  std::vector<OpMask> masks(num_layers, kRecomputeNone);
  for (const auto& step : kOrder) {
    for (int l = 0; l < num_layers && recomputed >= step.weight; ++l) {
      const LayerSpec& layer = model.layers[begin.layer + l];
      if (layer.kind != LayerKind::kTransformer) continue;
      masks[l] |= OpMask{1} << step.op;
      recomputed -= step.weight;
    }
  }
  std::vector<RecomputeRun> runs;
  for (const OpMask mask : masks) {
    if (runs.empty() || runs.back().mask != mask) runs.push_back({0, mask});
    ++runs.back().num_layers;
  }
  return runs;
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
  const OperatorCut begin = CutOfAcesoOperator(begin_op, model);
  const OperatorCut end = CutOfAcesoOperator(begin_op + num_ops, model);
  return RunStage{
      .plan = {.begin = begin,
               .end = end,
               .parallelism = parallelism,
               .recompute = AcesoRecompute(
                   model, begin, end,
                   static_cast<int>(std::lround(share * num_ops)))}};
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
  if (const auto offload = stage.Find("offload_w_g_o_a")) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> shares,
                             offload->Elements());
    for (const ConfigField& share : shares) {
      TANGRAM_ASSIGN_OR_RETURN(const double value, share.AsNumber(0, 1));
      if (value > 0) {
        return absl::UnimplementedError("offload: not modelled");
      }
    }
  }
  return MakeStage(model, begin, end, parallelism, Recompute::kAll, recomputed);
}

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

absl::StatusOr<RunStages> StagesWithoutBatch(const MeasuredRun& run,
                                             const ModelSpec& model) {
  if (run.plan_json.empty()) {
    if (run.tp_degree == 0 || run.pp_degree == 0) {
      return absl::UnimplementedError(
          "tp, pp: the row does not say how the model is split");
    }
    return EvenStages(run, model);
  }
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(run.plan_json, "plan_json"));
  const ConfigField root(value, "plan_json");
  if (const auto boundaries = root.Find("pipe_layer_boundaries")) {
    return DeepSpeedStages(run, model, root, *boundaries);
  }
  if (const auto stages = root.Find("stages")) {
    return ListedStages(run, model, *stages);
  }
  return EvenStages(run, model);
}

}  // namespace

absl::StatusOr<RunStages> StagesOfRun(const MeasuredRun& run,
                                      const ModelSpec& model) {
  TANGRAM_ASSIGN_OR_RETURN(RunStages result, StagesWithoutBatch(run, model));
  if (result.stages.empty()) return Contradiction("plan_json: no stages");
  int microbatch = run.microbatch_size;
  const int dp = result.stages.front().plan.parallelism.dp_degree;
  if (microbatch == 0) {
    return absl::UnimplementedError(
        "mbs: the row does not say how large a microbatch is");
  }
  if (int64_t{microbatch} * dp > run.global_batch_size) {
    return Contradiction(absl::StrCat("mbs: ", microbatch, " on ", dp,
                                      " replicas; expected at most gbs, ",
                                      run.global_batch_size));
  }
  result.pipeline_microbatch_size = microbatch * dp;
  return result;
}

}  // namespace tangram
