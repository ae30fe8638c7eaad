#ifndef TANGRAM_WORKER_ADAPTERS_MIST_DEGREE_COSTS_H_
#define TANGRAM_WORKER_ADAPTERS_MIST_DEGREE_COSTS_H_

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/cost/stage_cost.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/search/layer_recompute.h"
#include "worker/adapters/search/slice_layers.h"

namespace tangram::mist {

// What a stage recomputes, in steps: each makes one more of its transformer
// layers, from the first on, recompute its attention core; once all do, each
// makes one more recompute all of itself. Without `cores` the first half is
// left out. (The paper recomputes whole layers alone.)
struct RecomputeSteps {
  int num_layers = 0;  // That can recompute.
  bool cores = false;

  int num_steps() const { return (cores ? 2 : 1) * num_layers; }
};

// Costs of stages with the same degrees and ZeRO stage.
class DegreeCosts {
 public:
  // Refers to all but `parallelism`. `offloads` is what a stage may keep on the
  // host.
  DegreeCosts(const SliceLayers& layers, const IslandSpec& island,
              const ParallelizeOptions& options,
              absl::Span<const HostOffload> offloads,
              const StageParallelism& parallelism);

  const StageParallelism& parallelism() const { return parallelism_; }

  // Forward and backward pass of each layer of the slice as it is.
  std::vector<double> LayerSeconds();

  // Of a stage with the layers [begin, end). Recomputes attention cores where
  // they free more bytes a second than whole layers do.
  RecomputeSteps StepsOf(int begin, int end) const;
  // Without transfers to the next stage.
  StageCost CostOf(int begin, int end, int offload, int steps);
  StagePlan PlanOf(int begin, int end, int offload, int steps) const;

 private:
  // The layers [begin, middle) are recomputed as `before` says, those up to the
  // end as `after` says.
  struct Recomputed {
    int middle = 0;
    LayerRecompute before = LayerRecompute::kNone;
    LayerRecompute after = LayerRecompute::kNone;
  };
  Recomputed RecomputedBy(int begin, int end, int steps) const;
  absl::Span<const LayerCost> KindCosts(int offload, LayerRecompute recompute);
  bool CoresAreCheaper();
  std::vector<LayerCost> EstimateKinds(const HostOffload& offload,
                                       LayerRecompute recompute) const;

  const SliceLayers& layers_;
  absl::Span<const HostOffload> offloads_;
  StageParallelism parallelism_;
  StageEnvironment environment_;
  // By offload and LayerRecompute, of each kind; empty until asked for.
  std::vector<std::vector<LayerCost>> kind_costs_;
  bool recomputes_cores_ = false;
};

}  // namespace tangram::mist

#endif  // TANGRAM_WORKER_ADAPTERS_MIST_DEGREE_COSTS_H_
