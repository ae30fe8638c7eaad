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

// One microbatch of a stage, transfers apart.
struct StageFigures {
  double seconds = 0;  // Forward and backward.
  double backward_s = 0;
  double sync_s = 0;  // Gradient reduction and optimizer step, once.
  StageMemory memory;
};

// What stages cost under one set of degrees, and which of their layers to
// recompute. Keeps references to its arguments; one thread at a time.
class DegreeCosts {
 public:
  DegreeCosts(const SliceLayers& layers, const StageParallelism& parallelism,
              const StageEnvironment& environment);

  const StageParallelism& parallelism() const { return parallelism_; }

  StageFigures FiguresOf(LayerRange range,
                         absl::Span<const LayerRecompute> recompute) const;
  // Nothing recomputed.
  StageFigures FiguresOf(LayerRange range) const;

  // The fastest choice for each layer with which `in_flight` microbatches fit
  // in memory; none: nothing fits. `kept` are the range's figures with nothing
  // recomputed. Exact where the device, not the host, takes the longest.
  std::optional<std::vector<LayerRecompute>> FastestRecompute(
      LayerRange range, const StageFigures& kept, int in_flight);

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
  double BudgetBytes(LayerRange range, const StageFigures& kept,
                     LayerRecompute most, int in_flight) const;
  double LeastBytes(LayerRange range, LayerRecompute most) const;
  const LayerFrontier& FrontierOf(LayerRange range, LayerRecompute most);
  void GroupEqualLayers(LayerRange range,
                        std::vector<LayerRecompute>& recompute) const;

  const SliceLayers& layers_;
  const StageParallelism parallelism_;
  const StageEnvironment environment_;
  std::vector<CostsByChoice> costs_;  // By kind of layer.
  std::vector<LayerCost> kept_costs_;
  // By first layer and choice: of recomputing no layer beyond that.
  std::vector<std::unique_ptr<LayerFrontier>> frontiers_;
};

}  // namespace tangram::galvatron

#endif  // TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEGREES_H_
