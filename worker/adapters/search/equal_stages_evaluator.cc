#include "worker/adapters/search/equal_stages_evaluator.h"

#include <algorithm>
#include <cmath>

#include "common/domain/recompute_masks.h"
#include "common/parallelizer/stage_transfer.h"
#include "common/parallelizer/trailing_stages.h"
#include "worker/adapters/search/split_layers.h"

namespace tangram {

EqualStagesEvaluator::EqualStagesEvaluator(const ModelSlice& slice,
                                           const IslandSpec& island,
                                           const ParallelizeOptions& options)
    : island_(island),
      options_(options),
      num_microbatches_(options.training.global_batch_size /
                        options.pipeline_microbatch_size),
      layers_(slice),
      site_(SiteOf(island, options)) {
  if (site_ == nullptr) return;
  for (const LayerSpec& kind : layers_.kinds()) {
    kinds_.push_back(site_->KindOf(kind));
  }
}

// Stages are next to each other, so stage i begins at GPU i · gpus_per_stage.
double EqualStagesEvaluator::TransferSecondsAfter(int stage, int next_layer,
                                                  const EqualStages& layout) {
  const int size = layout.gpus_per_stage;
  if (transfers_gpus_ != size) {
    transfers_gpus_ = size;
    transfers_s_.assign(layers_.kinds().size() * layers_.size(), -1);
  }
  double& seconds =
      transfers_s_[layers_.kind_of(next_layer) * layers_.size() + stage];
  if (seconds < 0) {
    seconds = SecondsToNextStage(island_, options_, {stage * size, size, size},
                                 layers_.at(next_layer));
  }
  return seconds;
}

void EqualStagesEvaluator::EstimateKinds(const EqualStagesChoice& choice) {
  StageParallelism& estimated = estimated_.parallelism;
  const int zero_stage = choice.parallelism.zero_stage;
  estimated.zero_stage = zero_stage;
  if (!environment_.has_value() ||
      choice.layout.gpus_per_stage != estimated_.layout.gpus_per_stage ||
      choice.parallelism != estimated) {
    estimated_ = choice;
    environment_.emplace(StageEnvironment{
        .device = island_.device,
        .training = options_.training,
        .wiring = WiringOf(island_, choice.layout.gpus_per_stage),
        .pipeline_microbatch_size = options_.pipeline_microbatch_size});
    estimators_.clear();
    estimators_.reserve(layers_.kinds().size());
    for (const LayerSpec& kind : layers_.kinds()) {
      if (site_ != nullptr) break;
      estimators_.emplace_back(kind, 0,
                               static_cast<int>(OperatorsOf(kind).size()),
                               choice.parallelism, *environment_);
    }
  }
  kind_costs_.clear();
  for (size_t k = 0; k < layers_.kinds().size(); ++k) {
    const OpMask mask =
        MaskWithin(island_.limits, layers_.kinds()[k], choice.recompute);
    if (site_ != nullptr) {
      kind_costs_.push_back(
          site_->Cost(kinds_[k], mask, choice.parallelism, *environment_));
      continue;
    }
    estimators_[k].SetZeroStage(zero_stage);
    kind_costs_.push_back(estimators_[k].Cost(mask));
  }
}

// With L the sum of the layers' times on the device, without transfers, and S
// stages, the slowest stage takes at least L / S. A stage with the embedding
// needs no copy of a tied matrix.
double EqualStagesEvaluator::LeastSeconds(const EqualStagesChoice& choice) {
  EstimateKinds(choice);
  double latency_s = 0;
  layers_.ForEachRun(0, layers_.size(), [&](int kind, int count) {
    const LayerCost cost = WithoutHeadCopy(kind_costs_[kind]);
    latency_s += count * (cost.forward_s + cost.backward_s);
  });
  return ClosedFormSeconds(latency_s, latency_s / choice.layout.num_stages,
                           num_microbatches_);
}

// A stage of the same layers as the one before reuses its cost.
void EqualStagesEvaluator::EstimateStages(const EqualStagesChoice& choice) {
  EstimateKinds(choice);
  layer_seconds_.clear();
  for (int layer = 0; layer < layers_.size(); ++layer) {
    const LayerCost& cost = kind_costs_[layers_.kind_of(layer)];
    layer_seconds_.push_back(cost.forward_s + cost.backward_s);
  }
  stages_.clear();
  int begin = 0;
  int previous_begin = 0;
  // Cuts balance compute alone; transfers and memory do not move them.
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
                                   choice.parallelism, *environment_)});
    if (end < layers_.size()) {
      stages_.back().transfer_s =
          TransferSecondsAfter(stage, end, choice.layout);
    }
    previous_begin = begin;
    begin = end;
  }
}

// With stage times t_s:  slowest = max t_s,  latency = Σ t_s. The pipeline
// bears as many trailing stages as its most limited stage.
PlanMerits EqualStagesEvaluator::Evaluate(const EqualStagesChoice& choice) {
  EstimateStages(choice);
  const int num_stages = static_cast<int>(stages_.size());
  PlanMerits merits{.last_stage_s = stages_.back().time_s(),
                    .num_stages = num_stages,
                    .max_trailing_stages = kUnlimitedTrailingStages,
                    .each_depth = island_.limits.each_depth};
  for (int i = 0; i < num_stages; ++i) {
    const Stage& stage = stages_[i];
    merits.slowest_stage_s = std::max(merits.slowest_stage_s, stage.time_s());
    merits.latency_s += stage.time_s();
    merits.most_sync_s = std::max(merits.most_sync_s, stage.sync_s());
    merits.max_trailing_stages = std::min(
        merits.max_trailing_stages,
        TrailingStagesBorne(stage.cost.memory, island_.device.memory_bytes,
                            num_stages - 1 - i, num_microbatches_));
  }
  return merits;
}

// max over stages of  peak bytes with the stage's microbatches in flight −
// memory.
double EqualStagesEvaluator::BytesShort(int trailing_stages) const {
  double most = 0;
  const int num_stages = static_cast<int>(stages_.size());
  for (int i = 0; i < num_stages; ++i) {
    const int in_flight = InFlightMicrobatches(
        num_stages - 1 - i + trailing_stages, num_microbatches_);
    most = std::max(most, stages_[i].cost.memory.PeakBytes(in_flight) -
                              island_.device.memory_bytes);
  }
  return most;
}

std::vector<RecomputeRun> EqualStagesEvaluator::RecomputeOf(
    int begin, int end, LayerRecompute recompute) const {
  std::vector<RecomputeRun> runs;
  for (int layer = begin; layer < end; ++layer) {
    AppendMask(MaskWithin(island_.limits, layers_.at(layer), recompute), runs);
  }
  return runs;
}

SlicePlan EqualStagesEvaluator::PlanOf(const EqualStagesChoice& choice,
                                       const char* made_by) {
  SlicePlan plan{.max_trailing_stages = Evaluate(choice).max_trailing_stages,
                 .made_by = made_by};
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
