#ifndef TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEGREES_H_
#define TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEGREES_H_

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/stop_poll.h"
#include "common/cost/stage_cost.h"
#include "common/domain/recompute_masks.h"
#include "worker/adapters/search/layer_costs.h"
#include "worker/adapters/search/layer_frontier.h"
#include "worker/adapters/search/slice_layers.h"

namespace tangram::galvatron {

// Layers [begin, end) of a slice.
struct LayerRange {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
};

// Estimates of one microbatch of a stage that recomputes nothing, without
// transfers.
struct KeptFigures {
  double seconds = 0;  // Forward and backward pass.
  StageMemory memory;
};

// A choice of layers to recompute in a stage, and the stage's time with it.
struct RecomputePlan {
  LayerRecompute most =
      LayerRecompute::kNone;  // No layer recomputes more than this.
  int label = 0;              // Index into the frontier of `most`.
  double seconds = 0;
  bool operator==(const RecomputePlan&) const = default;
};

// Costs of stages with one set of degrees, and the best choice of layers to
// recompute. Keeps references to its arguments. Only one thread may use it at a
// time.
class DegreeCosts {
 public:
  // `site` is that of the question, or null.
  DegreeCosts(const SliceLayers& layers, const StageLimits& limits,
              const StageParallelism& parallelism,
              const StageEnvironment& environment, LayerCosts::Site* site);

  const StageParallelism& parallelism() const { return parallelism_; }

  // Returns the estimates of a stage with these layers if nothing is
  // recomputed.
  KeptFigures KeptOf(LayerRange range) const;

  // Returns the least that a layer of the kind adds to the time of a stage.
  double LeastLayerSeconds(int kind) const {
    const LayerCost cost = OnOneStage(kept_costs_[kind]);
    return cost.forward_s + cost.backward_s;
  }

  // Returns a lower bound on the time of a stage in which `in_flight`
  // microbatches fit, over all choices of layers to recompute. Does not search
  // for one.
  double LeastSeconds(const KeptFigures& kept, int in_flight) const;

  // Returns the fastest choice with which `in_flight` microbatches fit; none if
  // nothing fits, or if `poll` has stopped. Exact if the device, not the host,
  // limits every pass.
  std::optional<RecomputePlan> FastestRecompute(LayerRange range,
                                                const KeptFigures& kept,
                                                int in_flight, StopPoll& poll);

  // Returns the choice of each layer of the range. Limits may let all choices
  // recompute alike (MaskWithin). Among equal layers, those that recompute most
  // come first.
  std::vector<LayerRecompute> ChoicesOf(LayerRange range,
                                        const RecomputePlan& plan);
  StageCost CostOf(LayerRange range,
                   absl::Span<const LayerRecompute> choices) const;

  // Returns the bytes by which the stage exceeds a GPU's memory if all layers
  // recompute alike, for the recomputation that needs the least.
  double LeastBytesOver(LayerRange range, int in_flight) const;

 private:
  static constexpr int kNumChoices = std::size(kLayerRecomputes);
  using CostsByChoice = std::array<LayerCost, kNumChoices>;

  // Returns the range without embedding and head, which cannot be recomputed.
  LayerRange Recomputable(LayerRange range) const;
  // Returns the bytes that recomputable layers may keep of one microbatch, if
  // none recomputes more than `most`.
  double BudgetBytes(LayerRange range, const KeptFigures& kept,
                     LayerRecompute most, int in_flight) const;
  // Returns the least bytes that the layers keep if none recomputes more than
  // `most`.
  double LeastBytes(LayerRange range, LayerRecompute most) const;
  // Returns the time of the layers' backward passes if nothing is recomputed.
  double KeptBackwardSeconds(LayerRange range) const;
  double LeastSecondsPerByte() const;
  LayerFrontier& FindFrontier(int begin, bool are_alike, LayerRecompute most);
  // The frontier may be too short if `poll` has stopped.
  const LayerFrontier& FrontierOf(LayerRange range, LayerRecompute most,
                                  StopPoll& poll);

  const SliceLayers& layers_;
  const StageParallelism parallelism_;
  const StageEnvironment environment_;
  std::vector<CostsByChoice> costs_;  // By kind of layer.
  std::vector<LayerCost>
      kept_costs_;  // By kind: the costs without recomputation.
  // Least seconds added for each byte freed, over all recomputations of all
  // layers.
  double least_s_per_byte_ = 0;
  LayerCosts::Site* const site_;
  std::vector<LayerCosts::Site::Masks> masks_;  // By kind and choice.
  // By first layer and limit on recomputation. Those of equal layers alone are
  // the site's, if there is one.
  std::vector<std::unique_ptr<LayerFrontier>> frontiers_;
  std::vector<LayerFrontier*> of_equal_layers_;
};

}  // namespace tangram::galvatron

#endif  // TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEGREES_H_
