#ifndef TANGRAM_WORKER_ADAPTERS_MIST_DEGREE_COSTS_H_
#define TANGRAM_WORKER_ADAPTERS_MIST_DEGREE_COSTS_H_

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/cost/stage_cost.h"
#include "common/domain/recompute_masks.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/search/slice_layers.h"

namespace tangram::mist {

// The steps by which a stage recomputes more. Each step lets one more
// transformer layer, from the first on, recompute its attention core. Once all
// do, each further step lets one more layer recompute as a whole. Without
// `cores`, layers recompute as a whole from the first step. (The paper
// recomputes whole layers alone.)
struct RecomputeSteps {
  int num_layers = 0;  // Number of layers that can recompute.
  bool cores = false;  // Whether the steps for attention cores exist.

  int num_steps() const { return (cores ? 2 : 1) * num_layers; }
};

// Costs of stages with the same degrees and ZeRO stage.
class DegreeCosts {
 public:
  // Keeps references to all arguments except `parallelism`. `offloads` lists
  // what a stage may keep on the host.
  DegreeCosts(const SliceLayers& layers, const IslandSpec& island,
              const ParallelizeOptions& options,
              absl::Span<const HostOffload> offloads,
              const StageParallelism& parallelism);

  const StageParallelism& parallelism() const { return parallelism_; }

  // Returns the time of the forward and backward pass of each layer, without
  // recomputation and offloading.
  std::vector<double> LayerSeconds();

  // Returns the steps of a stage with the layers [begin, end). Attention cores
  // are recomputed if that frees more bytes per second than whole layers do.
  RecomputeSteps StepsOf(int begin, int end) const;
  // Returns the cost without transfers to the next stage. `offload` is an index
  // into `offloads`.
  StageCost CostOf(int begin, int end, int offload, int steps);
  StagePlan PlanOf(int begin, int end, int offload, int steps) const;

 private:
  // Layers [begin, middle) recompute `before`, layers [middle, end) recompute
  // `after`.
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
  const StageLimits& limits_;
  StageParallelism parallelism_;
  StageEnvironment environment_;
  // By offload and LayerRecompute, then by kind; empty until asked for.
  std::vector<std::vector<LayerCost>> kind_costs_;
  bool recomputes_cores_ = false;
};

}  // namespace tangram::mist

#endif  // TANGRAM_WORKER_ADAPTERS_MIST_DEGREE_COSTS_H_
