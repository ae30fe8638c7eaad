#include "common/sim/stage_estimator.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/hash/hash.h"
#include "common/domain/same_gpus.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/model_flops.h"

namespace tangram {
namespace {

// Kept costs beyond so many are forgotten, to bound the memory.
constexpr size_t kMostCosts = 1 << 16;
constexpr size_t kMostLayers = 1 << 14;

// Hashes what searches change.
template <typename H>
H CombineParallelism(H h, const StageParallelism& p) {
  return H::combine(std::move(h), p.tp_degree, p.cp_degree, p.dp_degree,
                    p.ep_degree, p.zero_stage, p.zero_degree,
                    p.sequence_parallel);
}
template <typename H>
H CombineOffload(H h, const HostOffload& offload) {
  return H::combine(std::move(h), offload.weights, offload.gradients,
                    offload.optimizer, offload.activations);
}

// Hashes a stage plan by the fields that searches change.
struct HashedStage {
  const StagePlan& plan;

  template <typename H>
  friend H AbslHashValue(H h, const HashedStage& hashed) {
    const StagePlan& stage = hashed.plan;
    h = CombineParallelism(
        H::combine(std::move(h), stage.begin.layer, stage.begin.op,
                   stage.end.layer, stage.end.op),
        stage.parallelism);
    for (const RecomputeRun& run : stage.recompute) {
      h = H::combine(std::move(h), run.num_layers, run.mask);
    }
    return CombineOffload(std::move(h), stage.offload);
  }
};

// Hashes degrees and offload likewise.
struct HashedSplit {
  const StageParallelism& parallelism;
  const HostOffload& offload;

  template <typename H>
  friend H AbslHashValue(H h, const HashedSplit& split) {
    return CombineOffload(CombineParallelism(std::move(h), split.parallelism),
                          split.offload);
  }
};

}  // namespace

// Sets of GPUs in use seldom differ in the middle alone.
size_t StageEstimator::GpusHash::operator()(Gpus gpus) const {
  if (gpus.empty()) return 0;
  const GpuId& first = gpus.front();
  const GpuId& last = gpus.back();
  return absl::HashOf(gpus.size(), first.node, first.index, last.node,
                      last.index);
}

bool StageEstimator::GpusEqual::operator()(Gpus a, Gpus b) const {
  return SameGpus(a, b);
}

template <typename Stage>
size_t StageEstimator::CostHash::operator()(const CostKey<Stage>& key) const {
  return absl::HashOf(key.place, key.microbatch_size, HashedStage{key.stage});
}

size_t StageEstimator::LayerHash::operator()(const LayerKey& key) const {
  return absl::HashOf(key.place, key.microbatch_size, key.run,
                      key.part.op_begin, key.part.op_end, key.part.recomputed,
                      HashedSplit{key.parallelism, key.offload});
}

StageEstimator::StageEstimator(const ModelSpec& model, const Cluster& cluster,
                               const TrainingOptions& training,
                               const StateShare& state)
    : model_(model),
      cluster_(cluster),
      training_(training),
      state_(state),
      validator_(model, cluster, training),
      model_flops_(ModelFlops(model, training)) {}

const StageEstimator::Place& StageEstimator::PlaceOf(Gpus gpus) {
  const auto known = places_.find(gpus);
  if (known != places_.end()) return known->second;
  return places_
      .emplace(std::vector<GpuId>(gpus.begin(), gpus.end()),
               Place{.placed = PlacedGpusOf(cluster_, gpus),
                     .end = PathEndOf(cluster_, gpus)})
      .first->second;
}

const StageCost& StageEstimator::CostOf(const Place& place,
                                        const StagePlan& stage,
                                        int microbatch_size) {
  const auto known =
      costs_.find(CostKey<const StagePlan&>{&place, microbatch_size, stage});
  if (known != costs_.end()) return known->second;
  if (costs_.size() >= kMostCosts) costs_.clear();
  return costs_
      .emplace(CostKey<StagePlan>{&place, microbatch_size, stage},
               Estimate(place, stage, microbatch_size))
      .first->second;
}

StageCost StageEstimator::Estimate(const Place& place, const StagePlan& stage,
                                   int microbatch_size) {
  StageEnvironment environment =
      place.placed.Environment(training_, microbatch_size);
  environment.state = state_;
  LayerKey key{.place = &place,
               .microbatch_size = microbatch_size,
               .parallelism = stage.parallelism,
               .offload = stage.offload};
  return EstimateStage(
      runs(), stage, environment, [&](int run, const LayerPart& part) {
        key.run = run;
        key.part = part;
        const auto known = layers_.find(key);
        if (known != layers_.end()) return known->second;
        if (layers_.size() >= kMostLayers) layers_.clear();
        return layers_
            .emplace(key,
                     EstimateLayer(runs()[run].layer, part, stage.parallelism,
                                   environment, stage.offload))
            .first->second;
      });
}

TransferPath StageEstimator::PathBetween(const Place& from,
                                         const Place& to) const {
  return tangram::PathBetween(cluster_, from.end, to.end);
}

double StageEstimator::PeakFlops(const PipelinePlan& plan,
                                 absl::Span<const Place* const> places) {
  places = places.first(plan.num_devices());
  if (!absl::c_equal(peak_places_, places)) {
    peak_places_.assign(places.begin(), places.end());
    peak_flops_ = PeakFlopsOf(cluster_, training_, plan);
  }
  return peak_flops_;
}

}  // namespace tangram
