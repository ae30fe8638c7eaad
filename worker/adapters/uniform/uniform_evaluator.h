#ifndef TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_EVALUATOR_H_
#define TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_EVALUATOR_H_

#include <vector>

#include "common/cost/stage_cost.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/search/layer_recompute.h"
#include "worker/adapters/search/slice_layers.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram {

// One point of the space: the same for all stages.
struct UniformChoice {
  EqualStages layout;
  StageParallelism parallelism;
  LayerRecompute recompute = LayerRecompute::kNone;
};

struct UniformFigures {
  double slowest_s = 0;
  double latency_s = 0;
  double sync_s = 0;  // Of the stage with the most.
  // Negative: too little memory even with nothing behind the slice.
  int max_trailing_stages = 0;
  // Per GPU of the fullest stage with the trailing stages asked for.
  double bytes_short = 0;
};

// Estimates choices for one query. Keeps references to its arguments, and
// scratch space: one thread at a time.
class UniformEvaluator {
 public:
  UniformEvaluator(const ModelSlice& slice, const IslandSpec& island,
                   const ParallelizeOptions& options);

  const SliceLayers& layers() const { return layers_; }

  UniformFigures Evaluate(const UniformChoice& choice);
  SlicePlan PlanOf(const UniformChoice& choice);

 private:
  struct Stage {
    int end_layer = 0;
    StageCost cost;
    double transfer_s = 0;  // To the next stage and back.
    double time_s() const {
      return cost.forward_s + cost.backward_s + transfer_s;
    }
    double sync_s() const { return cost.sync_s + cost.optimizer_s; }
  };

  // Fill `stages_`.
  void EstimateStages(const UniformChoice& choice);
  double TransferSecondsAfter(int stage, int next_layer,
                              const EqualStages& layout) const;
  std::vector<RecomputeRun> RecomputeOf(int begin, int end,
                                        LayerRecompute recompute) const;

  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  int num_microbatches_ = 1;
  SliceLayers layers_;

  // Of the choice in hand.
  std::vector<LayerCost> kind_costs_;
  std::vector<double> layer_seconds_;
  std::vector<Stage> stages_;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_EVALUATOR_H_
