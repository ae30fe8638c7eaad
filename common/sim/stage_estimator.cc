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

// Hashes a stage plan by the fields that searches change.
struct HashedStage {
  const StagePlan& plan;

  template <typename H>
  friend H AbslHashValue(H h, const HashedStage& hashed) {
    const StagePlan& stage = hashed.plan;
    const StageParallelism& p = stage.parallelism;
    h = H::combine(std::move(h), stage.begin.layer, stage.begin.op,
                   stage.end.layer, stage.end.op, p.tp_degree, p.cp_degree,
                   p.dp_degree, p.ep_degree, p.zero_stage, p.zero_degree,
                   p.sequence_parallel);
    for (const RecomputeRun& run : stage.recompute) {
      h = H::combine(std::move(h), run.num_layers, run.mask);
    }
    return H::combine(std::move(h), stage.offload.weights,
                      stage.offload.gradients, stage.offload.optimizer,
                      stage.offload.activations);
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
  StageEnvironment environment =
      place.placed.Environment(training_, microbatch_size);
  environment.state = state_;
  return costs_
      .emplace(CostKey<StagePlan>{&place, microbatch_size, stage},
               EstimateStage(validator_.runs(), stage, environment))
      .first->second;
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
