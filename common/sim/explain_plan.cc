#include "common/sim/explain_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/numeric/bits.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/format.h"
#include "common/domain/stage_part.h"
#include "common/sim/describe.h"
#include "common/sim/time_shares.h"

namespace tangram {
namespace {

// Returns the stage time of each device for one microbatch, summed over its
// stages.
std::vector<double> PaceSeconds(const PipelinePlan& plan,
                                const Evaluation& evaluation) {
  std::vector<double> paces(plan.num_devices());
  for (int s = 0; s < plan.num_stages(); ++s) {
    const StageEvaluation& stage = evaluation.stages[s];
    paces[s % plan.num_devices()] +=
        stage.forward_s + stage.backward_s + stage.send_s;
  }
  return paces;
}

// Returns the device of [begin, end) with the largest peak / capacity.
int FullestDevice(const Evaluation& evaluation, int begin, int end) {
  const auto first = evaluation.stages.begin();
  const auto fullest = std::max_element(
      first + begin, first + end, [](const auto& a, const auto& b) {
        return a.peak_bytes * b.capacity_bytes <
               b.peak_bytes * a.capacity_bytes;
      });
  return static_cast<int>(fullest - first);
}

// Returns the stage with the slowest transfers to and from the next stage.
int SlowestSend(const Evaluation& evaluation) {
  const auto slowest = std::max_element(
      evaluation.stages.begin(), evaluation.stages.end(),
      [](const auto& a, const auto& b) { return a.send_s < b.send_s; });
  return static_cast<int>(slowest - evaluation.stages.begin());
}

// The noun for a group of GPUs: a stage, or a device with its chunks.
std::string DeviceNoun(const PipelinePlan& plan) {
  return plan.virtual_stages == 1 ? "stage" : "device";
}

std::string Capitalised(std::string text) {
  text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
  return text;
}

std::string ExplainSchedule(const PipelinePlan& plan) {
  std::string text =
      absl::StrCat("The schedule is ", ScheduleName(plan.schedule));
  if (plan.virtual_stages > 1) {
    absl::StrAppend(&text, ": stage i is a chunk of device i mod ",
                    plan.num_devices());
  }
  return text + ".";
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
      parts.push_back(
          absl::StrCat(share.name, " ", FormatPercent(share.fraction)));
    }
  }
  const double recompute = RecomputationShare(plan, evaluation);
  return absl::StrCat(
      "An iteration takes ", Seconds(evaluation.iteration_time_s),
      ". The GPUs' time goes to ", absl::StrJoin(parts, ", "),
      recompute < kNegligible ? "."
                              : absl::StrCat("; recomputation takes ",
                                             FormatPercent(recompute), "."));
}

// Names the slowest stage or device, or says that all are balanced.
std::string ExplainPace(const Cluster& cluster, const PipelinePlan& plan,
                        const Evaluation& evaluation) {
  const std::vector<double> paces = PaceSeconds(plan, evaluation);
  const auto slowest = std::max_element(paces.begin(), paces.end());
  const double slowest_s = *slowest;
  const double fastest_s = *std::min_element(paces.begin(), paces.end());
  const std::string noun = DeviceNoun(plan);
  if (fastest_s >= (1 - kNegligible) * slowest_s) {
    return absl::StrCat("All ", noun, "s take ", Seconds(slowest_s),
                        " a microbatch: the pipeline is balanced.");
  }
  double most_idle_s = 0;
  for (const StageEvaluation& stage : evaluation.stages) {
    most_idle_s = std::max(most_idle_s, stage.idle_s);
  }
  const int device = static_cast<int>(slowest - paces.begin());
  const double others_s =
      (std::accumulate(paces.begin(), paces.end(), 0.0) - slowest_s) /
      (plan.num_devices() - 1);
  return absl::StrCat(Capitalised(DeviceName(plan, device)), " (",
                      DescribeGpus(cluster, plan.stages[device].gpus),
                      ") sets the pace: ", Seconds(slowest_s),
                      " a microbatch; the others take ", Seconds(others_s),
                      " on average. The most idle ", noun, " waits ",
                      FormatPercent(most_idle_s / evaluation.iteration_time_s),
                      " of the time.");
}

// Says what each group of mixed stage `s` takes, in which time.
std::string ExplainGroups(const Cluster& cluster, const PipelinePlan& plan,
                          const Evaluation& evaluation, int s) {
  const PlacedStage& stage = plan.stages[s];
  const MixedReplicas& mixed = stage.mixed;
  const bool routed = IsRouted(stage);
  int whole = 0;
  for (const ReplicaGroup& group : mixed.groups) whole += group.share;
  const std::vector<StagePart> parts = PartsOf(stage, 1, 1);
  std::vector<std::string> sentences;
  for (size_t g = 0; g < parts.size(); ++g) {
    const StageEvaluation& figures = evaluation.stages[s].replicas[g];
    sentences.push_back(absl::StrCat(
        "group ", g, " (", DescribeGpus(cluster, parts[g].gpus), ", ",
        DescribeParallelism(parts[g].parallelism), ") takes ",
        mixed.groups[g].share, " of ", whole,
        routed ? " microbatches, each in " : " samples of each microbatch, in ",
        Seconds(figures.forward_s + figures.backward_s), ", and waits ",
        FormatPercent(figures.idle_s / evaluation.iteration_time_s),
        " of the time"));
  }
  return absl::StrCat("Stage ", s, " has replicas that differ (",
                      StageSharingName(mixed.sharing),
                      "): ", absl::StrJoin(sentences, "; "), ".");
}

std::string ExplainSends(const PipelinePlan& plan,
                         const Evaluation& evaluation) {
  const int s = SlowestSend(evaluation);
  const double send_s = evaluation.stages[s].send_s;
  const std::vector<double> paces = PaceSeconds(plan, evaluation);
  return absl::StrCat(
      "The slowest transfer, between stages ", s, " and ", s + 1, ", takes ",
      Seconds(send_s), " a microbatch, ",
      FormatPercent(send_s / *std::max_element(paces.begin(), paces.end())),
      " of the slowest ", DeviceNoun(plan), ".");
}

// Returns the numbers of recomputed operators and of all operators of a stage.
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

// Describes recomputation, ZeRO and offload in the stages of devices [begin,
// end).
std::string MemoryTechniques(const ModelSpec& model, const PipelinePlan& plan,
                             int begin, int end) {
  int recomputed = 0;
  int all = 0;
  StageParallelism sharded;
  bool sequence_parallel = false;
  bool offloads = false;
  for (int s = 0; s < plan.num_stages(); ++s) {
    const int device = s % plan.num_devices();
    if (device < begin || device >= end) continue;
    const StagePlan& stage = plan.stages[s].plan;
    const auto [some, of] = RecomputedOperators(model, stage);
    recomputed += some;
    all += of;
    for (const StagePart& part : PartsOf(plan.stages[s], 1, 1)) {
      if (part.parallelism.zero_stage > sharded.zero_stage) {
        sharded = part.parallelism;
      }
      sequence_parallel |= part.parallelism.sequence_parallel;
    }
    offloads |= !stage.offload.none();
  }
  std::vector<std::string> parts = {
      recomputed == 0
          ? "nothing is recomputed"
          : absl::StrCat(recomputed, " of ", all, " operators are recomputed")};
  if (sharded.zero_stage > 0) {
    parts.push_back("ZeRO " + DescribeZero(sharded));
  }
  if (sequence_parallel) parts.push_back("sequence parallelism");
  if (offloads) parts.push_back("some is kept in host memory");
  return absl::StrJoin(parts, ", ");
}

// "2 microbatches"; of several chunks: "3 + 2 microbatches".
std::string InFlight(const PipelinePlan& plan, const Evaluation& evaluation,
                     int device) {
  std::vector<int> counts;
  for (int s = device; s < plan.num_stages(); s += plan.num_devices()) {
    counts.push_back(evaluation.stages[s].in_flight);
  }
  const bool one = counts.size() == 1 && counts[0] == 1;
  return absl::StrCat(absl::StrJoin(counts, " + "),
                      one ? " microbatch" : " microbatches");
}

// Explains the memory of devices [begin, end), all of one island.
std::string ExplainMemory(const ModelSpec& model, const PipelinePlan& plan,
                          const Evaluation& evaluation, int begin, int end) {
  const int island = plan.stages[begin].island;
  const std::string devices =
      end - begin == 1
          ? DeviceName(plan, begin)
          : absl::StrCat(DeviceNoun(plan), "s ", begin, " to ", end - 1);
  const int fullest = FullestDevice(evaluation, begin, end);
  const StageEvaluation& stage = evaluation.stages[fullest];
  return absl::StrCat(
      "Memory of ", island < 0 ? "" : absl::StrCat("island ", island, ", "),
      devices, ": ", MemoryTechniques(model, plan, begin, end),
      "; the fullest GPUs (", DeviceName(plan, fullest), ", ",
      InFlight(plan, evaluation, fullest), " in flight) need ",
      GigaBytes(stage.peak_bytes), " of ", GigaBytes(stage.capacity_bytes),
      ", ", FormatPercent(stage.peak_bytes / stage.capacity_bytes), ".");
}

std::string ExplainMeasured(const Evaluation& evaluation) {
  if (evaluation.measured_fraction == 0) {
    return "All times are estimates; none was measured.";
  }
  return absl::StrCat(FormatPercent(evaluation.measured_fraction),
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
    lines.push_back(absl::StrCat(Capitalised(DeviceName(plan, violation.stage)),
                                 " does not fit: it ", violation.reason, ", ",
                                 GigaBytes(violation.bytes_short), " short."));
  }
  lines.push_back(ExplainTime(plan, evaluation));
  if (plan.schedule != PipelineSchedule::kOneFOneB) {
    lines.push_back(ExplainSchedule(plan));
  }
  if (plan.num_devices() > 1) {
    lines.push_back(ExplainPace(cluster, plan, evaluation));
    lines.push_back(ExplainSends(plan, evaluation));
  }
  for (int s = 0; s < plan.num_stages(); ++s) {
    if (plan.stages[s].mixed.empty()) continue;
    lines.push_back(ExplainGroups(cluster, plan, evaluation, s));
  }
  int begin = 0;
  for (int d = 1; d <= plan.num_devices(); ++d) {
    const bool same_island = d < plan.num_devices() &&
                             plan.stages[d].island >= 0 &&
                             plan.stages[d].island == plan.stages[begin].island;
    if (same_island) continue;
    lines.push_back(ExplainMemory(model, plan, evaluation, begin, d));
    begin = d;
  }
  lines.push_back(ExplainMeasured(evaluation));
  return lines;
}

}  // namespace tangram
