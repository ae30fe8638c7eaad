#ifndef TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEPTH_H_
#define TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEPTH_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/slice_plan.h"
#include "worker/adapters/galvatron/galvatron_stages.h"

namespace tangram::galvatron {

// A plan whose slowest stage takes longer than this many times what it need is
// not looked for.
inline constexpr double kSlowestStageMargin = 1.25;

// Pipelines of one number of stages on one number of GPUs each. Keeps
// references to its arguments.
class Depth {
 public:
  Depth(const SliceLayers& layers, const EqualStages& layout,
        const IslandSpec& island, const ParallelizeOptions& options);

  // The best plans that bear `trailing_stages`; see SearchGalvatron. Empty:
  // nothing fits. Must be called with ever more trailing stages.
  std::vector<SlicePlan> Best(int trailing_stages);

  // How far an even split is over memory, per GPU of its fullest stage.
  double LeastBytesOver(int trailing_stages) const;

  int64_t num_steps() const { return table_.num_steps(); }

 private:
  int InFlight(int stage, int trailing_stages) const;
  double TransferSecondsAfter(int stage, int next_layer) const;
  std::vector<SlicePlan> BestFor(Goal goal, int trailing_stages);
  SlicePlan PlanOf(absl::Span<const int> ends, Goal goal, int trailing_stages);
  SliceStage StageOf(int stage, LayerRange range,
                     const StageChoice& choice) const;

  const SliceLayers& layers_;
  const EqualStages layout_;
  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  const int num_microbatches_;
  StageTable table_;
  std::vector<double> transfer_s_;  // By stage and kind of the next layer.
  // Of the last call: no plan has a faster slowest stage. By goal.
  std::vector<double> slowest_s_;
};

}  // namespace tangram::galvatron

#endif  // TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEPTH_H_
