#ifndef TANGRAM_COMMON_SIM_STAGE_ESTIMATOR_H_
#define TANGRAM_COMMON_SIM_STAGE_ESTIMATOR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/cost/operator_cost.h"
#include "common/cost/stage_cost.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/plan_validator.h"
#include "common/domain/training_options.h"
#include "common/sim/stage_placement.h"

namespace tangram {

// The costs of stages of one job, without mixed ones. Plans that a search tries
// differ in few stages, so costs are kept: a known one takes the time of a
// look-up. Keeps references to the model, the cluster and the training options.
// Thread-compatible.
class StageEstimator {
 public:
  StageEstimator(const ModelSpec& model, const Cluster& cluster,
                 const TrainingOptions& training, const StateShare& state = {});

  const ModelSpec& model() const { return model_; }
  const Cluster& cluster() const { return cluster_; }
  const TrainingOptions& training() const { return training_; }
  const StateShare& state() const { return state_; }
  // The runs of equal layers of the model.
  const std::vector<LayerRun>& runs() const { return validator_.runs(); }
  // ModelFlops of the job.
  double model_flops() const { return model_flops_; }

  // Returns what ValidatePlan does.
  absl::Status Validate(const PipelinePlan& plan) {
    return validator_.Check(plan);
  }

  // GPUs of a stage, and what depends on them alone.
  struct Place {
    PlacedGpus placed;
    PathEnd end;
  };

  // Returns the place of a stage on these GPUs. The reference lives as long as
  // the estimator, and differs for each list of GPUs. Looking it up takes time
  // in proportion to the GPUs.
  const Place& PlaceOf(absl::Span<const GpuId> gpus);

  // Returns the cost of a stage that passes ValidatePlan. The reference lives
  // until the next call.
  const StageCost& CostOf(const PlacedStage& stage, int microbatch_size) {
    return CostOf(PlaceOf(stage.gpus), stage.plan, microbatch_size);
  }
  const StageCost& CostOf(const Place& place, const StagePlan& stage,
                          int microbatch_size);

  // Returns the weakest device of the GPUs. The reference lives as long as the
  // estimator, and differs for each list of GPUs.
  const DeviceSpec& DeviceOf(absl::Span<const GpuId> gpus) {
    return PlaceOf(gpus).placed.device;
  }

  // Returns the path of transfers between two stages.
  TransferPath PathBetween(const Place& from, const Place& to) const;
  TransferPath PathBetween(absl::Span<const GpuId> from,
                           absl::Span<const GpuId> to) {
    return PathBetween(PlaceOf(from), PlaceOf(to));
  }

  // Returns PeakFlopsOf a plan with stages at these places. Adding up its GPUs
  // takes long, and plans that a search tries have the same.
  double PeakFlops(const PipelinePlan& plan,
                   absl::Span<const Place* const> places);

 private:
  using Gpus = absl::Span<const GpuId>;
  // Hashes and compares keys of the maps without copying them.
  struct GpusHash {
    using is_transparent = void;
    size_t operator()(Gpus gpus) const;
  };
  struct GpusEqual {
    using is_transparent = void;
    bool operator()(Gpus a, Gpus b) const;
  };
  template <typename Stage>
  struct CostKey {
    const Place* place;
    int microbatch_size;
    Stage stage;
  };
  struct CostHash {
    using is_transparent = void;
    template <typename Stage>
    size_t operator()(const CostKey<Stage>& key) const;
  };
  struct CostEqual {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const CostKey<A>& a, const CostKey<B>& b) const {
      return a.place == b.place && a.microbatch_size == b.microbatch_size &&
             a.stage == b.stage;
    }
  };

  // A part of a layer on GPUs of a place.
  struct LayerKey {
    const Place* place;
    int microbatch_size;
    StageParallelism parallelism;
    HostOffload offload;
    int run;
    LayerPart part;
    bool operator==(const LayerKey&) const = default;
  };
  struct LayerHash {
    size_t operator()(const LayerKey& key) const;
  };

  StageCost Estimate(const Place& place, const StagePlan& stage,
                     int microbatch_size);

  const ModelSpec& model_;
  const Cluster& cluster_;
  const TrainingOptions& training_;
  const StateShare state_;
  PlanValidator validator_;
  const double model_flops_;
  absl::node_hash_map<std::vector<GpuId>, Place, GpusHash, GpusEqual> places_;
  absl::node_hash_map<CostKey<StagePlan>, StageCost, CostHash, CostEqual>
      costs_;
  // Stages that were not seen before have layers that were.
  absl::node_hash_map<LayerKey, LayerCost, LayerHash> layers_;
  // Places of the last plan of which the peak was asked for, by device.
  std::vector<const Place*> peak_places_;
  double peak_flops_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_STAGE_ESTIMATOR_H_
