#include "worker/adapters/galvatron/galvatron_depth.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "common/cost/collectives.h"
#include "worker/adapters/search/stage_cuts.h"
#include "worker/adapters/search/trailing_stages.h"

namespace tangram::galvatron {
namespace {

// Sums of the same stage times differ in their last digits with their order.
constexpr double kRounding = 1 + 1e-12;

// How much further to look for a plan when there is none within a bound.
constexpr double kFirstMargin = 1.05;
constexpr double kLastMargin = 4;

// Tries ever looser bounds, which is faster than none at once.
std::optional<double> LeastSlowestFrom(double bound_s,
                                       const StageCutProblem& problem) {
  for (double margin = kFirstMargin; margin < kLastMargin; margin *= margin) {
    const std::optional<double> slowest_s =
        LeastSlowestStage(problem, bound_s * margin);
    if (slowest_s.has_value()) return slowest_s;
  }
  return LeastSlowestStage(problem, std::numeric_limits<double>::max());
}

}  // namespace

Depth::Depth(const SliceLayers& layers, const EqualStages& layout,
             const IslandSpec& island, const ParallelizeOptions& options)
    : layers_(layers),
      layout_(layout),
      island_(island),
      options_(options),
      num_microbatches_(options.training.global_batch_size /
                        options.pipeline_microbatch_size),
      table_(layers, layout.gpus_per_stage, island, options) {
  const int size = layout.gpus_per_stage;
  for (int stage = 0; stage + 1 < layout.num_stages; ++stage) {
    const TransferPath path =
        PathWithin(island, stage * size, size, (stage + 1) * size, size);
    for (const LayerSpec& next : layers.kinds()) {
      const double bytes = BoundaryBytes(
          next, 0, options.pipeline_microbatch_size, options.training);
      transfer_s_.push_back(2 * TransferSeconds(bytes, path));
    }
  }
  const LayerRange all = {.begin = 0, .end = layers.size()};
  for (const Goal goal : kGoals) {
    slowest_s_.push_back(table_.LeastWeight(all, goal) / layout.num_stages);
  }
}

int Depth::InFlight(int stage, int trailing_stages) const {
  return InFlightMicrobatches(layout_.num_stages - 1 - stage + trailing_stages,
                              num_microbatches_);
}

// There and back; none after the last stage.
double Depth::TransferSecondsAfter(int stage, int next_layer) const {
  if (next_layer == layers_.size()) return 0;
  const int num_kinds = static_cast<int>(layers_.kinds().size());
  return transfer_s_[stage * num_kinds + layers_.kind_of(next_layer)];
}

std::vector<SlicePlan> Depth::BestFor(Goal goal, int trailing_stages) {
  const auto seconds = [&](int stage, int begin, int end) {
    const StageChoice* choice =
        table_.Best({begin, end}, InFlight(stage, trailing_stages), goal);
    return choice == nullptr
               ? std::numeric_limits<double>::infinity()
               : choice->weight_s + TransferSecondsAfter(stage, end);
  };
  const auto least_seconds = [&](int begin, int end) {
    return table_.LeastWeight({begin, end}, goal);
  };
  const StageCutProblem problem = {.num_layers = layers_.size(),
                                   .num_stages = layout_.num_stages,
                                   .seconds = seconds,
                                   .least_seconds = least_seconds};
  double& slowest_s = slowest_s_[static_cast<int>(goal)];
  const std::optional<double> least_s = LeastSlowestFrom(slowest_s, problem);
  if (!least_s.has_value()) return {};
  slowest_s = *least_s;
  std::vector<SlicePlan> plans;
  for (const double margin : {kRounding, kSlowestStageMargin}) {
    const std::optional<std::vector<int>> ends =
        CutsOfLeastSum(problem, slowest_s * margin);
    if (ends.has_value()) {
      plans.push_back(PlanOf(*ends, goal, trailing_stages));
    }
  }
  return plans;
}

std::vector<SlicePlan> Depth::Best(int trailing_stages) {
  std::vector<SlicePlan> plans;
  for (const Goal goal : kGoals) {
    for (SlicePlan& plan : BestFor(goal, trailing_stages)) {
      plans.push_back(std::move(plan));
    }
  }
  return plans;
}

SliceStage Depth::StageOf(int stage, LayerRange range,
                          const StageChoice& choice) const {
  SliceStage made = {
      .plan = {.begin = {range.begin, 0},
               .end = {range.end, 0},
               .parallelism = choice.degrees->parallelism()},
      .time_s = choice.figures.seconds + TransferSecondsAfter(stage, range.end),
      .backward_s = choice.figures.backward_s,
      .sync_s = choice.figures.sync_s};
  for (int i = 0; i < range.size(); ++i) {
    AppendMask(MaskOf(layers_.at(range.begin + i), choice.recompute[i]),
               made.plan.recompute);
  }
  return made;
}

SlicePlan Depth::PlanOf(absl::Span<const int> ends, Goal goal,
                        int trailing_stages) {
  SlicePlan plan = {.max_trailing_stages = kUnlimitedTrailingStages,
                    .made_by = "galvatron"};
  LayerRange range;
  for (int stage = 0; stage < layout_.num_stages; ++stage) {
    range = {.begin = range.end, .end = ends[stage]};
    const StageChoice& choice =
        *table_.Best(range, InFlight(stage, trailing_stages), goal);
    plan.stages.push_back(StageOf(stage, range, choice));
    plan.max_trailing_stages = std::min(
        plan.max_trailing_stages,
        TrailingStagesBorne(choice.figures.memory, island_.device.memory_bytes,
                            layout_.num_stages - 1 - stage, num_microbatches_));
  }
  return plan;
}

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
