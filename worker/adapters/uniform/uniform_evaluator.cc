#include "worker/adapters/uniform/uniform_evaluator.h"

#include <algorithm>
#include <cmath>

#include "common/cost/collectives.h"
#include "worker/adapters/search/split_layers.h"
#include "worker/adapters/search/trailing_stages.h"

namespace tangram {
UniformEvaluator::UniformEvaluator(const ModelSlice& slice,
                                   const IslandSpec& island,
                                   const ParallelizeOptions& options)
    : island_(island),
      options_(options),
      num_microbatches_(options.training.global_batch_size /
                        options.pipeline_microbatch_size),
      layers_(slice) {}

double UniformEvaluator::TransferSecondsAfter(int stage, int next_layer,
                                              const EqualStages& layout) const {
  const int size = layout.gpus_per_stage;
  const TransferPath path =
      PathWithin(island_, stage * size, size, (stage + 1) * size, size);
  return 2 * TransferSeconds(BoundaryBytes(layers_.at(next_layer), 0,
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
  for (const LayerSpec& kind : layers_.kinds()) {
    kind_costs_.push_back(EstimateLayer(
        kind, 0, static_cast<int>(OperatorsOf(kind).size()),
        MaskOf(kind, choice.recompute), choice.parallelism, environment));
  }
  layer_seconds_.clear();
  for (int layer = 0; layer < layers_.size(); ++layer) {
    const LayerCost& cost = kind_costs_[layers_.kind_of(layer)];
    layer_seconds_.push_back(cost.forward_s + cost.backward_s);
  }
  stages_.clear();
  int begin = 0;
  int previous_begin = 0;
  for (const int end : SplitLayers(layer_seconds_, choice.layout.num_stages)) {
    const int stage = static_cast<int>(stages_.size());
    const bool same_as_before =
        stage > 0 && end - begin == begin - previous_begin &&
        layers_.SameLayers(previous_begin, begin, end - begin);
    stages_.push_back(
        {.end_layer = end,
         .cost = same_as_before
                     ? stages_.back().cost
                     : StageCostOf(layers_.Sum(begin, end, kind_costs_),
                                   choice.parallelism, environment)});
    if (end < layers_.size()) {
      stages_.back().transfer_s =
          TransferSecondsAfter(stage, end, choice.layout);
    }
    previous_begin = begin;
    begin = end;
  }
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
    figures.max_trailing_stages = std::min(
        figures.max_trailing_stages,
        TrailingStagesBorne(stage.cost.memory, island_.device.memory_bytes,
                            num_stages - 1 - i, num_microbatches_));
    const int in_flight = InFlightMicrobatches(
        num_stages - 1 - i + options_.trailing_stages, num_microbatches_);
    figures.bytes_short =
        std::max(figures.bytes_short, stage.cost.memory.PeakBytes(in_flight) -
                                          island_.device.memory_bytes);
  }
  return figures;
}

std::vector<RecomputeRun> UniformEvaluator::RecomputeOf(
    int begin, int end, LayerRecompute recompute) const {
  std::vector<RecomputeRun> runs;
  for (int layer = begin; layer < end; ++layer) {
    AppendMask(MaskOf(layers_.at(layer), recompute), runs);
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
