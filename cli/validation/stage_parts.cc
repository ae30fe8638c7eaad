#include "cli/validation/stage_parts.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "cli/validation/runtime_habits.h"

namespace tangram {
namespace {

OpMask AllOperators(const LayerSpec& layer) {
  return (OpMask{1} << OperatorsOf(layer).size()) - 1;
}

OpMask AttentionCoreAlone(const LayerSpec& layer) {
  const auto ops = OperatorsOf(layer);
  const auto it = std::find(ops.begin(), ops.end(), OpKind::kAttentionCore);
  return it == ops.end() ? kRecomputeNone
                         : OpMask{1} << static_cast<int>(it - ops.begin());
}

int ZeroStageOf(const MeasuredRun& run) {
  if (run.zero.empty()) return HabitsOf(run.framework).zero_stage;
  if (absl::StartsWith(run.zero, "none")) return 0;
  const char first = run.zero[0];
  if (first >= '0' && first <= '3') return first - '0';
  return absl::StrContains(run.zero, "optimizer+grad") ? 2 : 3;
}

// Returns the number that follows "over" or "group" in the text; 0: none.
int ZeroDegreeOf(const MeasuredRun& run) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(run.zero, absl::ByAnyChar(" (),"));
  for (size_t w = 1; w < words.size(); ++w) {
    int degree = 0;
    if ((words[w - 1] == "over" || words[w - 1] == "group") &&
        absl::SimpleAtoi(words[w], &degree)) {
      return degree;
    }
  }
  return 0;
}

// Returns the recomputation of the layers in [begin, end): the first
// `recomputed` transformer layers whole, or the attention core of all.
std::vector<RecomputeRun> RecomputeRuns(const ModelSpec& model,
                                        OperatorCut begin, OperatorCut end,
                                        Recompute recompute, int recomputed) {
  std::vector<OpMask> masks;
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
    masks.push_back(mask);
  }
  return JoinMasks(masks);
}

}  // namespace

Recompute RecomputeOf(const MeasuredRun& run) {
  if (absl::StartsWith(run.recompute, "full")) return Recompute::kAll;
  if (absl::StartsWith(run.recompute, "selective")) {
    return Recompute::kSelective;
  }
  return Recompute::kNone;
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

void ShardOverPart(const MeasuredRun& run, StageParallelism& parallelism) {
  const int degree = ZeroDegreeOf(run);
  if (parallelism.zero_stage > 0 && degree < parallelism.dp_degree) {
    parallelism.zero_degree = degree;
  }
}

std::vector<RecomputeRun> JoinMasks(absl::Span<const OpMask> masks) {
  std::vector<RecomputeRun> runs;
  for (const OpMask mask : masks) {
    if (runs.empty() || runs.back().mask != mask) runs.push_back({0, mask});
    ++runs.back().num_layers;
  }
  return runs;
}

RunStage MakeStage(const ModelSpec& model, OperatorCut begin, OperatorCut end,
                   const StageParallelism& parallelism, Recompute recompute,
                   int recomputed) {
  return {.plan = {.begin = begin,
                   .end = end,
                   .parallelism = parallelism,
                   .recompute = RecomputeRuns(model, begin, end, recompute,
                                              recomputed)}};
}

absl::Status Contradiction(absl::string_view what) {
  return absl::InvalidArgumentError(what);
}

}  // namespace tangram
