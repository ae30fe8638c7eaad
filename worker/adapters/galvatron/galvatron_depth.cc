#include "worker/adapters/galvatron/galvatron_depth.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "common/domain/recompute_masks.h"
#include "common/parallelizer/stage_transfer.h"
#include "common/parallelizer/trailing_stages.h"
#include "worker/adapters/search/search_limit.h"
#include "worker/adapters/search/stage_cuts.h"

namespace tangram::galvatron {
namespace {

// Margins on the known lower bound within which plans are looked for. They
// change only the time of the search.
constexpr double kFirstMargin = 1.05;
constexpr double kLastMargin = 4;

// Tries ever looser bounds. That is faster than searching without a bound at
// once, because few plans are far from the lower bound.
// Slower stages than `most_s` are of no use.
std::optional<double> LeastSlowestFrom(double bound_s, double most_s,
                                       const StageCutProblem& problem) {
  for (double margin = kFirstMargin; margin < kLastMargin; margin *= margin) {
    if (bound_s * margin > most_s) break;
    const std::optional<double> slowest_s =
        LeastSlowestStage(problem, bound_s * margin);
    if (slowest_s.has_value()) return slowest_s;
  }
  return LeastSlowestStage(problem, most_s);
}

}  // namespace

Depth::Depth(const SliceLayers& layers, const EqualStages& layout,
             const IslandSpec& island, const ParallelizeOptions& options,
             StageTable& table, StopPoll& poll)
    : layers_(layers),
      layout_(layout),
      island_(island),
      num_microbatches_(options.training.global_batch_size /
                        options.pipeline_microbatch_size),
      poll_(poll),
      table_(table) {
  table_.BeginCount();
  const int size = layout.gpus_per_stage;
  for (int stage = 0; stage + 1 < layout.num_stages; ++stage) {
    if (poll_.After(static_cast<int64_t>(layers.kinds().size()))) return;
    for (const LayerSpec& next : layers.kinds()) {
      transfer_s_.push_back(SecondsToNextStage(
          island, options, {stage * size, size, size}, next));
    }
  }
  latency_s_ = table_.LeastLatencySeconds();
  slowest_s_ = latency_s_ / layout.num_stages;
  if (num_microbatches_ > 1) {
    most_s_ = (WithRoundingRoom(options.limit_s) - latency_s_) /
              (num_microbatches_ - 1);
  }
}

// 1F1B holds one microbatch for the stage itself and one for each stage behind.
int Depth::InFlight(int stage, int trailing_stages) const {
  return InFlightMicrobatches(layout_.num_stages - 1 - stage + trailing_stages,
                              num_microbatches_);
}

// Returns the time of both directions; 0 after the last stage.
double Depth::TransferSecondsAfter(int stage, int next_layer) const {
  if (next_layer == layers_.size()) return 0;
  const int num_kinds = static_cast<int>(layers_.kinds().size());
  return transfer_s_[stage * num_kinds + layers_.kind_of(next_layer)];
}

// Options are sorted by time, and time with synchronisation falls along them.
// So the first is the fastest, and the last within the bound synchronises best.
const StageOption* Depth::OptionWithin(int stage, LayerRange range,
                                       int trailing_stages, double bound_s,
                                       Goal goal) {
  const double transfer_s = TransferSecondsAfter(stage, range.end);
  const StageOption* best = nullptr;
  for (const StageOption& option :
       table_.OptionsOf(range, InFlight(stage, trailing_stages))) {
    if (option.seconds() + transfer_s > bound_s) break;
    best = &option;
    if (goal == Goal::kTime) break;
  }
  return best;
}

double Depth::SecondsOf(int stage, LayerRange range, int trailing_stages) {
  const absl::Span<const StageOption> options =
      table_.OptionsOf(range, InFlight(stage, trailing_stages));
  return options.empty()
             ? kInfinity
             : options[0].seconds() + TransferSecondsAfter(stage, range.end);
}

double Depth::CostWithin(int stage, LayerRange range, int trailing_stages,
                         double bound_s, Goal goal) {
  const StageOption* option =
      OptionWithin(stage, range, trailing_stages, bound_s, goal);
  if (option == nullptr) return kInfinity;
  return option->seconds() + TransferSecondsAfter(stage, range.end) +
         (goal == Goal::kTimeAndSync ? option->sync_s : 0);
}

// First finds the least slowest stage, exactly. Then, for each margin,
// minimises the sum over stages of time, or of time and synchronisation, under
// the bound  slowest · margin, but at most the slowest stage that is of use.
std::vector<SlicePlan> Depth::Best(int trailing_stages) {
  const auto seconds = [&](int stage, int begin, int end) {
    return SecondsOf(stage, {begin, end}, trailing_stages);
  };
  const auto least_seconds = [&](int begin, int end) {
    return table_.LeastSeconds({begin, end});
  };
  const StageCutProblem problem = {.num_layers = layers_.size(),
                                   .num_stages = layout_.num_stages,
                                   .seconds = seconds,
                                   .least_seconds = least_seconds,
                                   .poll = &poll_};
  const std::optional<double> slowest_s =
      LeastSlowestFrom(slowest_s_, most_s_, problem);
  if (!slowest_s.has_value()) return {};
  slowest_s_ = *slowest_s;
  std::vector<Pipeline> pipelines;  // Each once.
  for (const double margin : kSlowestMargins) {
    const double bound_s = std::min(slowest_s_ * margin, most_s_);
    for (const Goal goal : {Goal::kTime, Goal::kTimeAndSync}) {
      const auto cost = [&](int stage, int begin, int end) {
        return CostWithin(stage, {begin, end}, trailing_stages, bound_s, goal);
      };
      std::vector<int> ends = CutsOfLeastSum(problem, bound_s, cost);
      if (ends.empty()) continue;
      Pipeline pipeline =
          PipelineOf(std::move(ends), trailing_stages, bound_s, goal);
      if (!absl::c_linear_search(pipelines, pipeline)) {
        pipelines.push_back(std::move(pipeline));
      }
    }
    if (bound_s == most_s_) break;
  }
  if (poll_.stopped()) return {};
  std::vector<SlicePlan> plans;
  for (const Pipeline& pipeline : pipelines) plans.push_back(PlanOf(pipeline));
  return plans;
}

SliceStage Depth::StageOf(int stage, LayerRange range,
                          const StageOption& option,
                          int& trailing_stages_borne) {
  DegreeCosts& degrees = table_.degrees(option.degrees);
  const std::vector<LayerRecompute> choices =
      degrees.ChoicesOf(range, option.recompute);
  const StageCost cost = degrees.CostOf(range, choices);
  trailing_stages_borne =
      TrailingStagesBorne(cost.memory, island_.device.memory_bytes,
                          layout_.num_stages - 1 - stage, num_microbatches_);
  SliceStage made = {.plan = {.begin = {range.begin, 0},
                              .end = {range.end, 0},
                              .parallelism = degrees.parallelism()},
                     .time_s = cost.forward_s + cost.backward_s +
                               TransferSecondsAfter(stage, range.end),
                     .backward_s = cost.backward_s,
                     .sync_s = cost.sync_s + cost.optimizer_s};
  for (int i = 0; i < range.size(); ++i) {
    AppendMask(
        MaskWithin(island_.limits, layers_.at(range.begin + i), choices[i]),
        made.plan.recompute);
  }
  return made;
}

Depth::Pipeline Depth::PipelineOf(std::vector<int> ends, int trailing_stages,
                                  double bound_s, Goal goal) {
  Pipeline pipeline{.ends = std::move(ends)};
  LayerRange range;
  for (int stage = 0; stage < layout_.num_stages; ++stage) {
    range = {.begin = range.end, .end = pipeline.ends[stage]};
    pipeline.options.push_back(
        *OptionWithin(stage, range, trailing_stages, bound_s, goal));
  }
  return pipeline;
}

SlicePlan Depth::PlanOf(const Pipeline& pipeline) {
  SlicePlan plan = {.max_trailing_stages = kUnlimitedTrailingStages,
                    .made_by = "galvatron"};
  plan.stages.reserve(layout_.num_stages);
  LayerRange range;
  for (int stage = 0; stage < layout_.num_stages; ++stage) {
    range = {.begin = range.end, .end = pipeline.ends[stage]};
    int borne = 0;
    plan.stages.push_back(
        StageOf(stage, range, pipeline.options[stage], borne));
    plan.max_trailing_stages = std::min(plan.max_trailing_stages, borne);
  }
  return plan;
}

// Uses the split into equal numbers of layers.
double Depth::LeastBytesOver(int trailing_stages) const {
  double most_bytes = 0;
  for (int stage = 0; stage < layout_.num_stages; ++stage) {
    const LayerRange range = {
        .begin = layers_.size() * stage / layout_.num_stages,
        .end = layers_.size() * (stage + 1) / layout_.num_stages};
    most_bytes = std::max(
        most_bytes,
        table_.LeastBytesOver(range, InFlight(stage, trailing_stages)));
  }
  return most_bytes;
}

}  // namespace tangram::galvatron
