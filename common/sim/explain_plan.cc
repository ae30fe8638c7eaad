#include "common/sim/explain_plan.h"

#include <algorithm>
#include <utility>

#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/sim/describe.h"
#include "common/sim/time_shares.h"

namespace tangram {
namespace {

// Differences below this are not worth a reader's time.
constexpr double kNegligible = 0.005;

// What a stage must find time for in each microbatch; what the composition
// calls its stage time.
double PaceSeconds(const StageEvaluation& stage) {
  return stage.forward_s + stage.backward_s + stage.send_s;
}

int SlowestStage(const Evaluation& evaluation) {
  const auto slowest =
      std::max_element(evaluation.stages.begin(), evaluation.stages.end(),
                       [](const auto& a, const auto& b) {
                         return PaceSeconds(a) < PaceSeconds(b);
                       });
  return static_cast<int>(slowest - evaluation.stages.begin());
}

int FullestStage(const Evaluation& evaluation, int begin, int end) {
  const auto first = evaluation.stages.begin();
  const auto fullest = std::max_element(
      first + begin, first + end, [](const auto& a, const auto& b) {
        return a.peak_bytes * b.capacity_bytes <
               b.peak_bytes * a.capacity_bytes;
      });
  return static_cast<int>(fullest - first);
}

int SlowestSend(const Evaluation& evaluation) {
  const auto slowest = std::max_element(
      evaluation.stages.begin(), evaluation.stages.end(),
      [](const auto& a, const auto& b) { return a.send_s < b.send_s; });
  return static_cast<int>(slowest - evaluation.stages.begin());
}

std::string ExplainTime(const PipelinePlan& plan,
                        const Evaluation& evaluation) {
  std::vector<TimeShare> shares = TimeShares(plan, evaluation);
  std::stable_sort(shares.begin(), shares.end(),
                   [](const TimeShare& a, const TimeShare& b) {
                     return a.fraction > b.fraction;
                   });
  std::vector<std::string> parts;
  for (const TimeShare& share : shares) {
    if (share.fraction >= kNegligible) {
      parts.push_back(absl::StrCat(share.name, " ", Percent(share.fraction)));
    }
  }
  const double recompute = RecomputationShare(plan, evaluation);
  return absl::StrCat(
      "An iteration takes ", Seconds(evaluation.iteration_time_s),
      ". The GPUs' time goes to ", absl::StrJoin(parts, ", "),
      recompute < kNegligible
          ? "."
          : absl::StrCat("; recomputation takes ", Percent(recompute), "."));
}

std::string ExplainPace(const Cluster& cluster, const PipelinePlan& plan,
                        const Evaluation& evaluation) {
  const int slowest = SlowestStage(evaluation);
  const double slowest_s = PaceSeconds(evaluation.stages[slowest]);
  const double all_but_it = plan.num_stages() - 1;
  double sum_s = 0;
  double fastest_s = slowest_s;
  double most_idle_s = 0;
  for (const StageEvaluation& stage : evaluation.stages) {
    sum_s += PaceSeconds(stage);
    fastest_s = std::min(fastest_s, PaceSeconds(stage));
    most_idle_s = std::max(most_idle_s, stage.idle_s);
  }
  if (fastest_s >= (1 - kNegligible) * slowest_s) {
    return absl::StrCat("All stages take ", Seconds(slowest_s),
                        " a microbatch: the pipeline is balanced.");
  }
  const double others_s = (sum_s - slowest_s) / all_but_it;
  return absl::StrCat(
      "Stage ", slowest, " (", DescribeGpus(cluster, plan.stages[slowest].gpus),
      ") sets the pace: ", Seconds(slowest_s),
      " a microbatch; the others take ", Seconds(others_s),
      " on average. The most idle stage waits ",
      Percent(most_idle_s / evaluation.iteration_time_s), " of the time.");
}

std::string ExplainSends(const Evaluation& evaluation) {
  const int s = SlowestSend(evaluation);
  const double send_s = evaluation.stages[s].send_s;
  return absl::StrCat(
      "The slowest transfer, between stages ", s, " and ", s + 1, ", takes ",
      Seconds(send_s), " a microbatch, ",
      Percent(send_s /
              PaceSeconds(evaluation.stages[SlowestStage(evaluation)])),
      " of the slowest stage.");
}

// Operators of a stage that are recomputed, and all.
std::pair<int, int> RecomputedOperators(const ModelSpec& model,
                                        const StagePlan& stage) {
  int recomputed = 0;
  int all = 0;
  int layer = stage.begin.layer;
  for (const RecomputeRun& run : stage.recompute) {
    for (int i = 0; i < run.num_layers; ++i, ++layer) {
      const int num_ops =
          static_cast<int>(OperatorsOf(model.layers[layer]).size());
      const int begin = layer == stage.begin.layer ? stage.begin.op : 0;
      const int end = layer == stage.end.layer ? stage.end.op : num_ops;
      const OpMask here =
          ((OpMask{1} << end) - 1) & ~((OpMask{1} << begin) - 1);
      recomputed += absl::popcount(run.mask & here);
      all += end - begin;
    }
  }
  return {recomputed, all};
}

std::string MemoryTechniques(const ModelSpec& model,
                             absl::Span<const PlacedStage> stages) {
  int recomputed = 0;
  int all = 0;
  int zero_stage = 0;
  bool sequence_parallel = false;
  for (const PlacedStage& stage : stages) {
    const auto [some, of] = RecomputedOperators(model, stage.plan);
    recomputed += some;
    all += of;
    zero_stage = std::max(zero_stage, stage.plan.parallelism.zero_stage);
    sequence_parallel |= stage.plan.parallelism.sequence_parallel;
  }
  std::vector<std::string> parts = {
      recomputed == 0
          ? "nothing is recomputed"
          : absl::StrCat(recomputed, " of ", all, " operators are recomputed")};
  if (zero_stage > 0) parts.push_back(absl::StrCat("ZeRO ", zero_stage));
  if (sequence_parallel) parts.push_back("sequence parallelism");
  return absl::StrJoin(parts, ", ");
}

// Stages [begin, end), all of one island.
std::string ExplainMemory(const ModelSpec& model, const PipelinePlan& plan,
                          const Evaluation& evaluation, int begin, int end) {
  const int island = plan.stages[begin].island;
  const std::string stages =
      end - begin == 1 ? absl::StrCat("stage ", begin)
                       : absl::StrCat("stages ", begin, " to ", end - 1);
  const int fullest = FullestStage(evaluation, begin, end);
  const StageEvaluation& stage = evaluation.stages[fullest];
  return absl::StrCat(
      "Memory of ", island < 0 ? "" : absl::StrCat("island ", island, ", "),
      stages, ": ",
      MemoryTechniques(model,
                       absl::MakeSpan(plan.stages).subspan(begin, end - begin)),
      "; the fullest GPUs (stage ", fullest, ", ", stage.in_flight,
      stage.in_flight == 1 ? " microbatch" : " microbatches",
      " in flight) need ", GigaBytes(stage.peak_bytes), " of ",
      GigaBytes(stage.capacity_bytes), ", ",
      Percent(stage.peak_bytes / stage.capacity_bytes), ".");
}

std::string ExplainMeasured(const Evaluation& evaluation) {
  if (evaluation.measured_fraction == 0) {
    return "All times are estimates; none was measured.";
  }
  return absl::StrCat(Percent(evaluation.measured_fraction),
                      " of the compute time rests on measurements, the rest "
                      "is estimated.");
}

}  // namespace

std::vector<std::string> ExplainPlan(const ModelSpec& model,
                                     const Cluster& cluster,
                                     const PipelinePlan& plan,
                                     const Evaluation& evaluation) {
  std::vector<std::string> lines;
  for (const Violation& violation : evaluation.violations) {
    lines.push_back(absl::StrCat("Stage ", violation.stage,
                                 " does not fit: it ", violation.reason, ", ",
                                 GigaBytes(violation.bytes_short), " short."));
  }
  lines.push_back(ExplainTime(plan, evaluation));
  if (plan.num_stages() > 1) {
    lines.push_back(ExplainPace(cluster, plan, evaluation));
    lines.push_back(ExplainSends(evaluation));
  }
  int begin = 0;
  for (int s = 1; s <= plan.num_stages(); ++s) {
    const bool same_island = s < plan.num_stages() &&
                             plan.stages[s].island >= 0 &&
                             plan.stages[s].island == plan.stages[begin].island;
    if (same_island) continue;
    lines.push_back(ExplainMemory(model, plan, evaluation, begin, s));
    begin = s;
  }
  lines.push_back(ExplainMeasured(evaluation));
  return lines;
}

}  // namespace tangram
