#ifndef TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEPTH_H_
#define TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEPTH_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/slice_plan.h"
#include "worker/adapters/galvatron/galvatron_stages.h"

namespace tangram::galvatron {

// How much longer than need be the slowest stage of a plan may take. A plan
// with a slower one may have a smaller sum.
inline constexpr double kSlowestMargins[] = {1, 1.05, 1.25};

// Whether the sum that is to be least is of the stages' times, or of those and
// their synchronisation.
enum class Goal { kTime, kTimeAndSync };

// Pipelines of one number of stages on one number of GPUs each. Keeps
// references to its arguments.
class Depth {
 public:
  Depth(const SliceLayers& layers, const EqualStages& layout,
        const IslandSpec& island, const ParallelizeOptions& options);

  // The best plans that bear `trailing_stages`, for each margin and goal: of
  // all cuts between layers, degrees and layers to recompute, exactly. Empty:
  // nothing fits. Must be called with ever more trailing stages.
  std::vector<SlicePlan> Best(int trailing_stages);

  // How far an even split is over memory, per GPU of its fullest stage.
  double LeastBytesOver(int trailing_stages) const;

  int64_t num_steps() const { return table_.num_steps(); }

 private:
  int InFlight(int stage, int trailing_stages) const;
  double TransferSecondsAfter(int stage, int next_layer) const;
  // The best option that keeps a stage within a bound; null: there is none.
  const StageOption* OptionWithin(int stage, LayerRange range,
                                  int trailing_stages, double bound_s,
                                  Goal goal);
  double SecondsOf(int stage, LayerRange range, int trailing_stages);
  // Infinity where there is no option within the bound.
  double CostWithin(int stage, LayerRange range, int trailing_stages,
                    double bound_s, Goal goal);
  SlicePlan PlanOf(absl::Span<const int> ends, int trailing_stages,
                   double bound_s, Goal goal);
  SliceStage StageOf(int stage, LayerRange range, const StageOption& option,
                     int& trailing_stages_borne);

  const SliceLayers& layers_;
  const EqualStages layout_;
  const IslandSpec& island_;
  const int num_microbatches_;
  StageTable table_;
  std::vector<double> transfer_s_;  // By stage and kind of the next layer.
  double slowest_s_ = 0;  // No plan's slowest stage is known to be faster.
};

}  // namespace tangram::galvatron

#endif  // TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEPTH_H_
