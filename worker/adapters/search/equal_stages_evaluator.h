#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_EQUAL_STAGES_EVALUATOR_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_EQUAL_STAGES_EVALUATOR_H_

#include <optional>
#include <vector>

#include "common/cost/layer_estimator.h"
#include "common/cost/stage_cost.h"
#include "common/domain/closed_form.h"
#include "common/domain/plan_merits.h"
#include "common/domain/recompute_masks.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/search/layer_costs.h"
#include "worker/adapters/search/search_limit.h"
#include "worker/adapters/search/slice_layers.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram {

// One way to run a slice, the same for all stages.
struct EqualStagesChoice {
  EqualStages layout;
  StageParallelism parallelism;
  LayerRecompute recompute = LayerRecompute::kNone;
};

// Estimates choices for one query. Keeps references to its arguments. Holds
// scratch space, so only one thread may use it at a time.
class EqualStagesEvaluator {
 public:
  EqualStagesEvaluator(const ModelSlice& slice, const IslandSpec& island,
                       const ParallelizeOptions& options);

  const SliceLayers& layers() const { return layers_; }

  // Returns a lower bound in seconds on the closed form of the choice, and of
  // those that differ in a higher ZeRO stage or more recomputation. Takes a
  // fraction of the time of Evaluate.
  double LeastSeconds(const EqualStagesChoice& choice);

  // Returns whether plans of this closed form in seconds, or of this lower
  // bound on it, are of no use.
  bool ExceedsLimit(double closed_form_s) const {
    return closed_form_s > WithRoundingRoom(options_.limit_s);
  }
  bool ExceedsLimit(const PlanMerits& merits) const {
    return ExceedsLimit(ClosedFormSeconds(
        merits.latency_s, merits.slowest_stage_s, num_microbatches_));
  }

  // Returns a negative number of trailing stages if the choice does not fit
  // even with none.
  PlanMerits Evaluate(const EqualStagesChoice& choice);
  // Returns the shortage in bytes on a GPU of the fullest stage, for the choice
  // evaluated last with `trailing_stages` stages behind the slice. 0 if it
  // fits.
  double BytesShort(int trailing_stages) const;

  // Evaluates the choice and returns its plan.
  SlicePlan PlanOf(const EqualStagesChoice& choice, const char* made_by);

 private:
  // One stage of the present choice.
  struct Stage {
    int end_layer = 0;
    StageCost cost;
    double transfer_s = 0;  // To the next stage and back.
    double time_s() const {
      return cost.forward_s + cost.backward_s + transfer_s;
    }
    double sync_s() const { return cost.sync_s + cost.optimizer_s; }
  };

  // Fills `kind_costs_`.
  void EstimateKinds(const EqualStagesChoice& choice);
  // Fills `stages_`.
  void EstimateStages(const EqualStagesChoice& choice);
  double TransferSecondsAfter(int stage, int next_layer,
                              const EqualStages& layout);
  std::vector<RecomputeRun> RecomputeOf(int begin, int end,
                                        LayerRecompute recompute) const;

  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  int num_microbatches_ = 1;
  SliceLayers layers_;
  LayerCosts::Site* const site_;  // Null: nothing is kept.
  std::vector<int> kinds_;        // Their numbers at the site.

  // The environment of `estimators_`, which are those of each kind for these
  // degrees. Choices that differ in ZeRO stage and recomputation share them.
  std::optional<StageEnvironment> environment_;
  EqualStagesChoice estimated_;
  std::vector<LayerEstimator> estimators_;

  // For stages of so many GPUs, the transfers that are known: by the kind of
  // the next layer, then by stage, which may be as many as layers. -1: not
  // known.
  int transfers_gpus_ = 0;
  std::vector<double> transfers_s_;

  // For the present choice.
  std::vector<LayerCost> kind_costs_;
  std::vector<double> layer_seconds_;
  std::vector<Stage> stages_;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_EQUAL_STAGES_EVALUATOR_H_
