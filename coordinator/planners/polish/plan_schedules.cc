#include "coordinator/planners/polish/plan_schedules.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "common/base/infinity.h"
#include "coordinator/planners/polish/plan_moves.h"

namespace tangram {
namespace {

// The numbers of chunks that are tried, the smallest first. Each more saves
// less time and costs more transfers.
constexpr size_t kMostChunkCounts = 2;

// Pipelines with more stages keep their warm-up.
constexpr int kMostWarmedStages = 128;

// Warm-up passes let the period be longer than the slowest stage by this
// fraction.
constexpr double kPeriodSlack = 0.002;

// More warm-up passes for each border, to fill the wait for the first gradient.
constexpr double kExtraPasses[] = {0.5, 1, 2};

// A border has at most so many more passes. They hide a transfer of four times
// the slowest stage.
constexpr int kMostExtraPasses = 8;

// The most borders that move a layer before a plan is run in chunks.
constexpr int kMostShifted = 7;

// Returns where the cut is, in layers. It counts transformer layers alone, as
// embedding and head stay on the first and the last stage: from 0 to `end`.
double PositionOf(const ModelSpec& model, OperatorCut cut) {
  const double end = model.num_layers() - 2;
  const double num_ops =
      cut.op == 0
          ? 1
          : static_cast<double>(OperatorsOf(model.layers[cut.layer]).size());
  return std::clamp(cut.layer - 1 + cut.op / num_ops, 0.0, std::max(0.0, end));
}

double LayersOf(const ModelSpec& model, const StagePlan& stage) {
  return PositionOf(model, stage.end) - PositionOf(model, stage.begin);
}

std::vector<int> UsualWarmUp(int num_stages) {
  std::vector<int> passes;
  for (int s = 0; s < num_stages; ++s) passes.push_back(num_stages - s);
  return passes;
}

// Stages `first` to `last` with a period, the longest of all.
struct Window {
  double period_s = 0;
  int first = 0;
  int last = 0;
};

Window SlowestWindow(absl::Span<const PassSeconds> stages,
                     absl::Span<const int> warm_up) {
  Window slowest;
  const int num_stages = static_cast<int>(stages.size());
  for (int s = 0; s < num_stages; ++s) {
    double sum_s = 0;
    for (int u = s; u < num_stages; ++u) {
      sum_s += stages[u].stage_s;
      const double period_s = sum_s / (warm_up[s] - warm_up[u] + 1);
      if (period_s > slowest.period_s) slowest = {period_s, s, u};
      sum_s += stages[u].border_s;
    }
  }
  return slowest;
}

class Schedules {
 public:
  Schedules(const PlanRequest& request, const PipelineRules& rules,
            const PipelinePlan& plan, const Evaluation& evaluation,
            double least_gain)
      : request_(request),
        rules_(rules),
        plan_(plan),
        evaluation_(evaluation),
        num_microbatches_(request.training.global_batch_size /
                          plan.pipeline_microbatch_size),
        least_saved_s_(least_gain * evaluation.iteration_time_s) {
    for (const StageEvaluation& stage : evaluation.stages) {
      stages_.push_back({stage.forward_s + stage.backward_s, stage.send_s});
    }
  }

  std::vector<PipelinePlan> All() && {
    SplitBackward();
    AddWarmUp();
    RunForwardFirst();
    Interleave();
    return std::move(schedules_);
  }

 private:
  void Add(PipelinePlan plan) {
    if (rules_.runtime != nullptr &&
        !WhyNotScheduled(*rules_.runtime, plan).empty()) {
      return;
    }
    schedules_.push_back(std::move(plan));
  }

  // Returns whether so much is saved if no iteration takes less than
  //   max_s (B t_s + Σ_{u<s} before_u) + min_s tail_s
  // with tail_s the time of stage s after its last pass.
  template <typename Before>
  bool MaySave(const Before& before) const {
    double before_s = 0;
    double passes_s = 0;
    double tail_s = kInfinity;
    for (size_t s = 0; s < stages_.size(); ++s) {
      const StageEvaluation& stage = evaluation_.stages[s];
      passes_s =
          std::max(passes_s, num_microbatches_ * stages_[s].stage_s + before_s);
      before_s += before(stage);
      tail_s = std::min(tail_s, stage.sync_s + stage.optimizer_s);
    }
    return evaluation_.iteration_time_s - passes_s - tail_s >= least_saved_s_;
  }

  void SplitBackward() {
    if (!MaySave([](const StageEvaluation& stage) { return stage.forward_s; }))
      return;
    PipelinePlan plan = plan_;
    plan.schedule = PipelineSchedule::kZeroBubbleH1;
    Add(std::move(plan));
  }

  // Returns whether all forward passes before a backward pass may save so much.
  bool MayWarmUp() const {
    return MaySave([](const StageEvaluation& stage) {
      return stage.forward_s + stage.backward_s;
    });
  }

  // GPipe has the most warm-up passes, for runtimes that let none be set.
  void RunForwardFirst() {
    if (rules_.runtime == nullptr || !MayWarmUp()) return;
    PipelinePlan plan = plan_;
    plan.schedule = PipelineSchedule::kGpipe;
    Add(std::move(plan));
  }

  // More warm-up passes hide transfers. And where the slowest stage is not the
  // last, they fill its wait for the first gradient.
  void AddWarmUp() {
    const int num_stages = plan_.num_stages();
    if (num_stages > kMostWarmedStages || !MayWarmUp()) return;
    double slowest_s = 0;
    for (const PassSeconds& stage : stages_) {
      slowest_s = std::max(slowest_s, stage.stage_s);
    }
    std::vector<std::vector<int>> warm_ups;
    warm_ups.push_back(WarmUpFor(stages_, slowest_s * (1 + kPeriodSlack)));
    for (const double extra : kExtraPasses) {
      std::vector<int>& passes = warm_ups.emplace_back();
      for (int behind = num_stages - 1; behind >= 0; --behind) {
        passes.push_back(1 + behind + static_cast<int>(extra * behind));
      }
    }
    std::set<std::vector<int>> tried = {UsualWarmUp(num_stages)};
    for (std::vector<int>& passes : warm_ups) {
      if (!tried.insert(passes).second) continue;
      PipelinePlan plan = plan_;
      plan.warm_up_passes = std::move(passes);
      Add(std::move(plan));
    }
  }

  void AddNew(PipelinePlan plan) {
    if (!absl::c_linear_search(schedules_, plan)) Add(std::move(plan));
  }

  void AddInterleaved(int chunks, const PipelinePlan& plan) {
    for (PipelinePlan& other :
         AllInterleaved(request_.model, FinestCuts(rules_), chunks, plan)) {
      AddNew(std::move(other));
    }
  }

  // Returns the plan with the first borders, up to that behind stage `last`, a
  // layer earlier. Early devices hold more microbatches in chunks, and may have
  // no memory left for them.
  PipelinePlan Shifted(int last) const {
    PipelinePlan shifted = plan_;
    for (int s = 0; s <= last; ++s) {
      StagePlan& stage = shifted.stages[s].plan;
      if (stage.end.layer - 1 <= stage.begin.layer) return plan_;
      --stage.end.layer;
      shifted.stages[s + 1].plan.begin = stage.end;
    }
    return shifted;
  }

  void Interleave() {
    const PlanConstraints& constraints = request_.constraints;
    // Chunks would run layers elsewhere.
    if (!constraints.pins.empty() || constraints.virtual_stages == 1 ||
        num_microbatches_ % plan_.num_devices() != 0) {
      return;
    }
    for (const int chunks : ChunkCounts(request_.model, plan_)) {
      const auto before = [&](const StageEvaluation& stage) {
        return (stage.forward_s + stage.backward_s) / chunks;
      };
      if (!MaySave(before)) continue;
      AddInterleaved(chunks, plan_);
      std::optional<PipelinePlan> even = EvenChunks(
          request_.model, FinestCuts(rules_), chunks, plan_, evaluation_);
      if (even.has_value()) AddNew(*std::move(even));
      for (int last = 0; last < std::min(plan_.num_stages() - 1, kMostShifted);
           ++last) {
        AddInterleaved(chunks, Shifted(last));
      }
    }
  }

  const PlanRequest& request_;
  const PipelineRules& rules_;
  const PipelinePlan& plan_;
  const Evaluation& evaluation_;
  const int num_microbatches_;
  const double least_saved_s_;
  std::vector<PassSeconds> stages_;
  std::vector<PipelinePlan> schedules_;
};

}  // namespace

double PeriodSeconds(absl::Span<const PassSeconds> stages,
                     absl::Span<const int> warm_up) {
  return SlowestWindow(stages, warm_up).period_s;
}

// In the window with the longest period, the border with the longest transfer
// for each of its passes gets one more.
std::vector<int> WarmUpFor(absl::Span<const PassSeconds> stages,
                           double most_s) {
  const int num_stages = static_cast<int>(stages.size());
  std::vector<int> warm_up = UsualWarmUp(num_stages);
  std::vector<int> extra(num_stages);
  while (true) {
    const Window slowest = SlowestWindow(stages, warm_up);
    if (slowest.period_s <= most_s) return warm_up;
    int widest = -1;
    for (int s = slowest.first; s < slowest.last; ++s) {
      if (extra[s] >= kMostExtraPasses) continue;
      if (widest < 0 || stages[s].border_s * (1 + extra[widest]) >
                            stages[widest].border_s * (1 + extra[s])) {
        widest = s;
      }
    }
    if (widest < 0) return warm_up;
    ++extra[widest];
    for (int s = 0; s <= widest; ++s) ++warm_up[s];
  }
}

std::vector<int> ChunkCounts(const ModelSpec& model, const PipelinePlan& plan) {
  int fewest = model.num_layers();
  std::set<int> divisors;
  for (const PlacedStage& stage : plan.stages) {
    const int layers =
        static_cast<int>(std::lround(LayersOf(model, stage.plan)));
    fewest = std::min(fewest, layers);
    for (int d = 2; d <= layers; ++d) {
      if (layers % d == 0) divisors.insert(d);
    }
  }
  std::set<int> counts;
  for (const int divisor : divisors) {
    if (divisor <= fewest && counts.size() < kMostChunkCounts) {
      counts.insert(divisor);
    }
  }
  if (fewest >= 2) counts.insert(2);
  return {counts.begin(), counts.end()};
}

namespace {

// Returns how many of the layers the first chunks of a device get, up to and
// with `chunk`.
double LayersUpTo(int chunk, int chunks, double layers, Remainder remainder) {
  if (remainder == Remainder::kNearest) return layers * (chunk + 1) / chunks;
  const int whole = static_cast<int>(std::lround(layers));
  const int part = whole / chunks;
  const int rest = whole % chunks;
  const int with_more = remainder == Remainder::kFirst
                            ? std::min(chunk + 1, rest)
                            : std::max(0, chunk + 1 - (chunks - rest));
  return part * (chunk + 1) + with_more;
}

OperatorCut NearestCut(const ModelSpec& model,
                       const std::vector<OperatorCut>& places,
                       double position) {
  return *absl::c_min_element(places, [&](OperatorCut a, OperatorCut b) {
    return std::abs(PositionOf(model, a) - position) <
           std::abs(PositionOf(model, b) - position);
  });
}

using LayersOfChunk = absl::FunctionRef<double(int chunk, int device)>;

// Returns the plan with `chunks` stages on each device, of about so many layers
// each, cut at the nearest of `cuts`. Only the main output crosses a residual
// cut, so others cost more transfers. Empty: a chunk would be empty.
std::optional<PipelinePlan> InChunksOf(const ModelSpec& model,
                                       Runtime::Cuts cuts, int chunks,
                                       const PipelinePlan& plan,
                                       LayersOfChunk layers_of) {
  const std::vector<OperatorCut> places =
      CutsOf(model, std::min(cuts, Runtime::Cuts::kResiduals));
  PipelinePlan interleaved = plan;
  if (chunks > 1) {
    interleaved.schedule = PipelineSchedule::kInterleaved;
    interleaved.virtual_stages = chunks;
    interleaved.warm_up_passes.clear();
  }
  interleaved.stages.clear();
  OperatorCut begin;
  double position = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    for (int device = 0; device < plan.num_stages(); ++device) {
      position += layers_of(chunk, device);
      PlacedStage& placed =
          interleaved.stages.emplace_back(plan.stages[device]);
      const bool is_last =
          interleaved.num_stages() == chunks * plan.num_stages();
      const OperatorCut end = is_last ? OperatorCut{model.num_layers(), 0}
                                      : NearestCut(model, places, position);
      if (end <= begin) return std::nullopt;
      placed.plan.begin = begin;
      placed.plan.end = end;
      placed.plan.recompute = {{.num_layers = LayersTouched(begin, end)}};
      begin = end;
    }
  }
  return interleaved;
}

// Returns the layers that a device of the plan runs in a second: those of the
// fastest device of its kind, as embedding and head take some of the ends'
// time.
double RateOf(const ModelSpec& model, const PipelinePlan& plan,
              const Evaluation& evaluation, int device) {
  const PlacedStage& stage = plan.stages[device];
  double rate = 0;
  for (int d = 0; d < plan.num_stages(); ++d) {
    const PlacedStage& like = plan.stages[d];
    if (like.island != stage.island ||
        like.plan.parallelism != stage.plan.parallelism) {
      continue;
    }
    const StageEvaluation& times = evaluation.stages[d];
    rate = std::max(rate, LayersOf(model, like.plan) /
                              (times.forward_s + times.backward_s));
  }
  return rate;
}

}  // namespace

std::optional<PipelinePlan> Interleaved(const ModelSpec& model,
                                        Runtime::Cuts cuts, int chunks,
                                        const PipelinePlan& plan,
                                        Remainder remainder) {
  return InChunksOf(
      model, remainder == Remainder::kNearest ? cuts : Runtime::Cuts::kLayers,
      chunks, plan, [&](int chunk, int device) {
        const double layers = LayersOf(model, plan.stages[device].plan);
        return LayersUpTo(chunk, chunks, layers, remainder) -
               LayersUpTo(chunk - 1, chunks, layers, remainder);
      });
}

// Device d has n_d layers, takes t_d for them and runs r_d in a second. The
// ends take as long as if they had e_d = t_d·r_d − n_d more. With v chunks,
// each takes
//
//   Σ_d (n_d + e_d) / (v · Σ_d r_d).
std::optional<PipelinePlan> EvenChunks(const ModelSpec& model,
                                       Runtime::Cuts cuts, int chunks,
                                       const PipelinePlan& plan,
                                       const Evaluation& evaluation) {
  const int last = plan.num_stages() - 1;
  std::vector<double> rates;
  std::vector<double> extra(plan.num_stages());
  double work = 0;
  double rate = 0;
  for (int d = 0; d <= last; ++d) {
    rates.push_back(RateOf(model, plan, evaluation, d));
    rate += rates[d];
    const double layers = LayersOf(model, plan.stages[d].plan);
    if (d == 0 || d == last) {
      const StageEvaluation& times = evaluation.stages[d];
      extra[d] = std::max(
          0.0, (times.forward_s + times.backward_s) * rates[d] - layers);
    }
    work += layers + extra[d];
  }
  const double chunk_s = work / (chunks * rate);
  return InChunksOf(model, cuts, chunks, plan, [&](int chunk, int d) {
    const bool is_end =
        (d == 0 && chunk == 0) || (d == last && chunk == chunks - 1);
    return std::max(0.0, chunk_s * rates[d] - (is_end ? extra[d] : 0));
  });
}

std::vector<PipelinePlan> AllInterleaved(const ModelSpec& model,
                                         Runtime::Cuts cuts, int chunks,
                                         const PipelinePlan& plan) {
  std::vector<PipelinePlan> all;
  for (const Remainder remainder :
       {Remainder::kNearest, Remainder::kFirst, Remainder::kLast}) {
    std::optional<PipelinePlan> interleaved =
        Interleaved(model, cuts, chunks, plan, remainder);
    if (!interleaved.has_value()) continue;
    if (absl::c_linear_search(all, *interleaved)) continue;
    all.push_back(*std::move(interleaved));
  }
  return all;
}

std::vector<PipelinePlan> OtherSchedules(const PlanRequest& request,
                                         const PipelineRules& rules,
                                         const PipelinePlan& plan,
                                         const Evaluation& evaluation,
                                         double least_gain) {
  if (plan.schedule != PipelineSchedule::kOneFOneB || plan.num_stages() == 1 ||
      !plan.warm_up_passes.empty() || request.training.blocking_transfers) {
    return {};
  }
  return Schedules(request, rules, plan, evaluation, least_gain).All();
}

PipelinePlan WithoutChunks(const PipelinePlan& plan) {
  PipelinePlan plain = plan;
  plain.schedule = PipelineSchedule::kOneFOneB;
  plain.virtual_stages = 1;
  plain.stages.resize(plan.num_devices());
  int begin = 0;
  for (int d = 0; d < plan.num_devices(); ++d) {
    int end = begin;
    for (int s = d; s < plan.num_stages(); s += plan.num_devices()) {
      const StagePlan& chunk = plan.stages[s].plan;
      end += chunk.end.layer - chunk.begin.layer;
    }
    StagePlan& stage = plain.stages[d].plan;
    stage.begin = {begin, 0};
    stage.end = {end, 0};
    stage.recompute = {{.num_layers = end - begin}};
    begin = end;
  }
  return plain;
}

}  // namespace tangram
