#ifndef TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_EVALUATOR_H_
#define TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_EVALUATOR_H_

#include <vector>

#include "common/cost/stage_cost.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/uniform/uniform_space.h"

namespace tangram {

// One point of the space: the same for all stages.
struct UniformChoice {
  UniformLayout layout;
  StageParallelism parallelism;
  UniformRecompute recompute = UniformRecompute::kNone;
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

  // The different layers of the slice.
  absl::Span<const LayerSpec> kinds() const { return kinds_; }
  int num_layers() const { return static_cast<int>(kind_of_.size()); }

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
  StageCost CostOf(int begin, int end, const UniformChoice& choice,
                   const StageEnvironment& environment) const;
  bool SameAsBefore(int begin, int end, int previous_begin) const;
  double TransferSecondsAfter(int stage, int next_layer,
                              const UniformLayout& layout) const;
  int TrailingStagesBorne(int stage) const;
  std::vector<RecomputeRun> RecomputeOf(int begin, int end,
                                        UniformRecompute recompute) const;

  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  int num_microbatches_ = 1;
  std::vector<LayerSpec> kinds_;
  std::vector<int> kind_of_;  // Of each layer.
  std::vector<int> run_end_;  // Of each layer: the end of its run.

  // Of the choice in hand.
  std::vector<LayerCost> kind_costs_;
  std::vector<double> layer_seconds_;
  std::vector<Stage> stages_;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_EVALUATOR_H_
