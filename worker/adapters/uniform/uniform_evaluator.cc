#include "worker/adapters/uniform/uniform_evaluator.h"

#include <algorithm>
#include <cmath>

#include "common/cost/collectives.h"
#include "worker/adapters/uniform/uniform_split.h"

namespace tangram {
namespace {

// The most microbatches, up to `limit`, that fit in flight; 0: none.
int MostInFlight(const StageMemory& memory, double capacity_bytes, int limit) {
  if (memory.PeakBytes(limit) <= capacity_bytes) return limit;
  if (memory.activation_bytes <= 0) return 0;
  const double room =
      capacity_bytes - memory.static_bytes - memory.transient_bytes;
  int most = static_cast<int>(
      std::clamp(room / memory.activation_bytes, 0.0, limit - 1.0));
  // The division may round up across a whole number.
  while (most > 0 && memory.PeakBytes(most) > capacity_bytes) --most;
  return most;
}

}  // namespace

UniformEvaluator::UniformEvaluator(const ModelSlice& slice,
                                   const IslandSpec& island,
                                   const ParallelizeOptions& options)
    : island_(island),
      options_(options),
      num_microbatches_(options.training.global_batch_size /
                        options.pipeline_microbatch_size) {
  for (const LayerRun& run : slice.runs) {
    const auto known = std::find(kinds_.begin(), kinds_.end(), run.layer);
    const int kind = static_cast<int>(known - kinds_.begin());
    if (known == kinds_.end()) kinds_.push_back(run.layer);
    kind_of_.insert(kind_of_.end(), run.count, kind);
    run_end_.insert(run_end_.end(), run.count,
                    static_cast<int>(kind_of_.size()));
  }
}

StageCost UniformEvaluator::CostOf(int begin, int end,
                                   const UniformChoice& choice,
                                   const StageEnvironment& environment) const {
  LayerCost sum;
  while (begin < end) {
    const int run_end = std::min(run_end_[begin], end);
    AddLayers(kind_costs_[kind_of_[begin]], run_end - begin, sum);
    begin = run_end;
  }
  return StageCostOf(sum, choice.parallelism, environment);
}

// Whether [previous_begin, begin) and [begin, end) are as many equal layers.
bool UniformEvaluator::SameAsBefore(int begin, int end,
                                    int previous_begin) const {
  return end - begin == begin - previous_begin &&
         run_end_[previous_begin] >= end;
}

double UniformEvaluator::TransferSecondsAfter(
    int stage, int next_layer, const UniformLayout& layout) const {
  const int size = layout.gpus_per_stage;
  const TransferPath path =
      PathWithin(island_, stage * size, size, (stage + 1) * size, size);
  return 2 * TransferSeconds(BoundaryBytes(kinds_[kind_of_[next_layer]], 0,
                                           options_.pipeline_microbatch_size,
                                           options_.training),
                             path);
}

void UniformEvaluator::EstimateStages(const UniformChoice& choice) {
  const StageEnvironment environment = {
      .device = island_.device,
      .training = options_.training,
      .wiring = WiringOf(island_, choice.layout.gpus_per_stage),
      .pipeline_microbatch_size = options_.pipeline_microbatch_size};
  kind_costs_.clear();
  for (const LayerSpec& kind : kinds_) {
    kind_costs_.push_back(EstimateLayer(
        kind, 0, static_cast<int>(OperatorsOf(kind).size()),
        MaskOf(kind, choice.recompute), choice.parallelism, environment));
  }
  layer_seconds_.clear();
  for (const int kind : kind_of_) {
    layer_seconds_.push_back(kind_costs_[kind].forward_s +
                             kind_costs_[kind].backward_s);
  }
  stages_.clear();
  int begin = 0;
  int previous_begin = 0;
  for (const int end : SplitLayers(layer_seconds_, choice.layout.num_stages)) {
    const int stage = static_cast<int>(stages_.size());
    stages_.push_back(
        {.end_layer = end,
         .cost = stage > 0 && SameAsBefore(begin, end, previous_begin)
                     ? stages_.back().cost
                     : CostOf(begin, end, choice, environment)});
    if (end < num_layers()) {
      stages_.back().transfer_s =
          TransferSecondsAfter(stage, end, choice.layout);
    }
    previous_begin = begin;
    begin = end;
  }
}

// Stage i of n holds min(n − i + T, B) microbatches with T stages behind the
// slice.
int UniformEvaluator::TrailingStagesBorne(int stage) const {
  const int in_flight =
      MostInFlight(stages_[stage].cost.memory, island_.device.memory_bytes,
                   num_microbatches_);
  return in_flight == num_microbatches_
             ? kUnlimitedTrailingStages
             : in_flight - (static_cast<int>(stages_.size()) - stage);
}

UniformFigures UniformEvaluator::Evaluate(const UniformChoice& choice) {
  EstimateStages(choice);
  UniformFigures figures{.max_trailing_stages = kUnlimitedTrailingStages};
  const int num_stages = static_cast<int>(stages_.size());
  for (int i = 0; i < num_stages; ++i) {
    const Stage& stage = stages_[i];
    figures.slowest_s = std::max(figures.slowest_s, stage.time_s());
    figures.latency_s += stage.time_s();
    figures.sync_s = std::max(figures.sync_s, stage.sync_s());
    figures.max_trailing_stages =
        std::min(figures.max_trailing_stages, TrailingStagesBorne(i));
    const int in_flight = InFlightMicrobatches(
        num_stages - 1 - i + options_.trailing_stages, num_microbatches_);
    figures.bytes_short =
        std::max(figures.bytes_short, stage.cost.memory.PeakBytes(in_flight) -
                                          island_.device.memory_bytes);
  }
  return figures;
}

std::vector<RecomputeRun> UniformEvaluator::RecomputeOf(
    int begin, int end, UniformRecompute recompute) const {
  std::vector<RecomputeRun> runs;
  for (int layer = begin; layer < end; ++layer) {
    const OpMask mask = MaskOf(kinds_[kind_of_[layer]], recompute);
    if (runs.empty() || runs.back().mask != mask) {
      runs.push_back({.num_layers = 0, .mask = mask});
    }
    ++runs.back().num_layers;
  }
  return runs;
}

SlicePlan UniformEvaluator::PlanOf(const UniformChoice& choice) {
  SlicePlan plan{.max_trailing_stages = Evaluate(choice).max_trailing_stages,
                 .made_by = "uniform"};
  int begin = 0;
  for (const Stage& stage : stages_) {
    plan.stages.push_back(
        {.plan = {.begin = {begin, 0},
                  .end = {stage.end_layer, 0},
                  .parallelism = choice.parallelism,
                  .recompute =
                      RecomputeOf(begin, stage.end_layer, choice.recompute)},
         .time_s = stage.time_s(),
         .backward_s = stage.cost.backward_s,
         .sync_s = stage.sync_s()});
    begin = stage.end_layer;
  }
  return plan;
}

}  // namespace tangram
