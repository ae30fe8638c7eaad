#ifndef TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEPTH_H_
#define TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEPTH_H_

#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "common/base/stop_poll.h"
#include "common/domain/closed_form.h"
#include "common/domain/slice_plan.h"
#include "worker/adapters/galvatron/galvatron_stages.h"

namespace tangram::galvatron {

// Bounds on the slowest stage, as multiples of the least possible. A plan with
// a slower slowest stage may have a smaller sum of stage times.
inline constexpr double kSlowestMargins[] = {1, 1.05, 1.25};

// The sum that is minimised within the bound on the slowest stage.
// kTime: stage times. kTimeAndSync: stage times and gradient synchronisation.
enum class Goal { kTime, kTimeAndSync };

// Searches pipelines of one number of stages with one number of GPUs each.
// Keeps references to its arguments. `table` is that of the layout's stages,
// and `poll` has its should_stop.
class Depth {
 public:
  Depth(const SliceLayers& layers, const EqualStages& layout,
        const IslandSpec& island, const ParallelizeOptions& options,
        StageTable& table, StopPoll& poll);

  // Returns the best plans that bear `trailing_stages`, for each margin and
  // goal; one that is the best for several of them once. Searches all cuts
  // between layers, all degrees and all recomputation exactly. Empty if nothing
  // fits. `trailing_stages` must not fall from call to call.
  std::vector<SlicePlan> Best(int trailing_stages);

  // Returns a lower bound on the closed form of every plan, in seconds. Best
  // raises it.
  double LeastSeconds() const {
    return ClosedFormSeconds(latency_s_, slowest_s_, num_microbatches_);
  }

  // Returns the bytes by which an even split exceeds the memory of a GPU of its
  // fullest stage.
  double LeastBytesOver(int trailing_stages) const;

  int64_t num_steps() const { return table_.num_steps(); }
  // Whether should_stop has stopped a call of Best, which then returned no
  // plans.
  bool stopped() const { return poll_.stopped(); }

 private:
  int InFlight(int stage, int trailing_stages) const;
  double TransferSecondsAfter(int stage, int next_layer) const;
  // Returns the best option of a stage within a bound; null if there is none.
  const StageOption* OptionWithin(int stage, LayerRange range,
                                  int trailing_stages, double bound_s,
                                  Goal goal);
  // Returns the time of the fastest option, with its transfer.
  double SecondsOf(int stage, LayerRange range, int trailing_stages);
  // Returns the cost of the best option by `goal`; infinity if there is none
  // within the bound.
  double CostWithin(int stage, LayerRange range, int trailing_stages,
                    double bound_s, Goal goal);
  // The ends of the stages, and the option of each.
  struct Pipeline {
    std::vector<int> ends;
    std::vector<StageOption> options;
    bool operator==(const Pipeline&) const = default;
  };
  Pipeline PipelineOf(std::vector<int> ends, int trailing_stages,
                      double bound_s, Goal goal);
  SlicePlan PlanOf(const Pipeline& pipeline);
  SliceStage StageOf(int stage, LayerRange range, const StageOption& option,
                     int& trailing_stages_borne);

  const SliceLayers& layers_;
  const EqualStages layout_;
  const IslandSpec& island_;
  const int num_microbatches_;
  StopPoll& poll_;
  StageTable& table_;
  std::vector<double> transfer_s_;  // By stage and kind of the next layer.
  double latency_s_ = 0;            // A lower bound on that of every plan.
  // No plan with a slower stage is of use.
  double most_s_ = std::numeric_limits<double>::max();
  // A lower bound on the slowest stage of every plan, raised by each call of
  // Best.
  double slowest_s_ = 0;
};

}  // namespace tangram::galvatron

#endif  // TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_DEPTH_H_
