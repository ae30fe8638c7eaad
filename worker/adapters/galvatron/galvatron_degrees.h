#ifndef TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEGREES_H_
#define TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEGREES_H_

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "common/cost/stage_cost.h"
#include "worker/adapters/search/layer_frontier.h"
#include "worker/adapters/search/layer_recompute.h"
#include "worker/adapters/search/slice_layers.h"

namespace tangram::galvatron {

// Layers [begin, end) of a slice.
struct LayerRange {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
};

// One microbatch of a stage with nothing recomputed, transfers apart.
struct KeptFigures {
  double seconds = 0;  // Forward and backward.
  StageMemory memory;
};

// Which layers of a stage to recompute, and its time with that.
struct RecomputePlan {
  LayerRecompute most = LayerRecompute::kNone;  // No layer beyond that.
  int label = 0;                                // Of that frontier.
  double seconds = 0;
};

// What stages cost under one set of degrees, and which of their layers to
// recompute. Keeps references to its arguments; one thread at a time.
class DegreeCosts {
 public:
  DegreeCosts(const SliceLayers& layers, const StageParallelism& parallelism,
              const StageEnvironment& environment);

  const StageParallelism& parallelism() const { return parallelism_; }

  KeptFigures KeptOf(LayerRange range) const;

  // No way to recompute layers with which `in_flight` microbatches fit in
  // memory takes less than that, which is found without looking for one.
  double LeastSeconds(const KeptFigures& kept, int in_flight) const;

  // The fastest such way; none: nothing fits. Exact where the device, not the
  // host, takes longest.
  std::optional<RecomputePlan> FastestRecompute(LayerRange range,
                                                const KeptFigures& kept,
                                                int in_flight);

  // By layer of the range, those recomputed most first among equal layers.
  std::vector<LayerRecompute> ChoicesOf(LayerRange range,
                                        const RecomputePlan& plan);
  StageCost CostOf(LayerRange range,
                   absl::Span<const LayerRecompute> choices) const;

  // With all layers recomputed alike, whichever takes the least memory: how far
  // over a GPU's memory that is.
  double LeastBytesOver(LayerRange range, int in_flight) const;

 private:
  static constexpr int kNumChoices = std::size(kLayerRecomputes);
  using CostsByChoice = std::array<LayerCost, kNumChoices>;

  // Without the embedding and head at its ends, of which nothing can be.
  LayerRange Recomputable(LayerRange range) const;
  // For the activations that recomputable layers keep of one microbatch, if
  // none is recomputed beyond `most`.
  double BudgetBytes(LayerRange range, const KeptFigures& kept,
                     LayerRecompute most, int in_flight) const;
  double LeastBytes(LayerRange range, LayerRecompute most) const;
  // What their backward passes take if nothing is recomputed.
  double KeptBackwardSeconds(LayerRange range) const;
  double LeastSecondsPerByte() const;
  const LayerFrontier& FrontierOf(LayerRange range, LayerRecompute most);

  const SliceLayers& layers_;
  const StageParallelism parallelism_;
  const StageEnvironment environment_;
  std::vector<CostsByChoice> costs_;  // By kind of layer.
  std::vector<LayerCost> kept_costs_;
  // Of any recomputation of any layer: seconds it adds for a byte it frees.
  double least_s_per_byte_ = 0;
  // By first layer and choice: of recomputing no layer beyond that.
  std::vector<std::unique_ptr<LayerFrontier>> frontiers_;
};

}  // namespace tangram::galvatron

#endif  // TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEGREES_H_
