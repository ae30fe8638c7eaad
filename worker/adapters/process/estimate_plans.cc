#include "worker/adapters/process/estimate_plans.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "common/cost/stage_cost.h"
#include "worker/adapters/search/non_dominated.h"
#include "worker/adapters/search/slice_layers.h"
#include "worker/adapters/search/stage_transfer.h"
#include "worker/adapters/search/trailing_stages.h"

namespace tangram {
namespace {

class PlanEstimator {
 public:
  PlanEstimator(const ModelSlice& slice, const IslandSpec& island,
                const ParallelizeOptions& options)
      : slice_(slice),
        layers_(slice),
        island_(island),
        options_(options),
        num_microbatches_(options.training.global_batch_size /
                          options.pipeline_microbatch_size) {}

  // Returns by how many bytes the fullest GPU is too small for the trailing
  // stages asked for.
  double Estimate(SlicePlan& plan) const {
    double bytes_short = -std::numeric_limits<double>::infinity();
    plan.max_trailing_stages = kUnlimitedTrailingStages;
    int first_gpu = 0;
    for (int i = 0; i < plan.num_stages(); ++i) {
      SliceStage& stage = plan.stages[i];
      const StageCost cost = CostOf(stage.plan);
      stage.backward_s = cost.backward_s;
      stage.sync_s = cost.sync_s + cost.optimizer_s;
      stage.time_s = cost.forward_s + cost.backward_s +
                     TransferSecondsAfter(plan, i, first_gpu);
      const int stages_behind = plan.num_stages() - 1 - i;
      plan.max_trailing_stages = std::min(
          plan.max_trailing_stages, TrailingStages(cost.memory, stages_behind));
      const int in_flight = InFlightMicrobatches(
          stages_behind + options_.trailing_stages, num_microbatches_);
      bytes_short = std::max(bytes_short, cost.memory.PeakBytes(in_flight) -
                                              island_.device.memory_bytes);
      first_gpu += stage.plan.parallelism.num_gpus();
    }
    return bytes_short;
  }

 private:
  StageCost CostOf(const StagePlan& stage) const {
    return EstimateStage(
        slice_.runs, stage,
        {.device = island_.device,
         .training = options_.training,
         .wiring = WiringOf(island_, stage.parallelism.num_gpus()),
         .pipeline_microbatch_size = options_.pipeline_microbatch_size});
  }

  // That memory bears, the host's too where something is offloaded.
  int TrailingStages(const StageMemory& memory, int stages_behind) const {
    const StageMemory on_host = {
        .static_bytes = memory.host_static_bytes,
        .activation_bytes = memory.host_activation_bytes};
    return std::min(
        TrailingStagesBorne(memory, island_.device.memory_bytes, stages_behind,
                            num_microbatches_),
        TrailingStagesBorne(on_host, island_.device.host.memory_bytes,
                            stages_behind, num_microbatches_));
  }

  double TransferSecondsAfter(const SlicePlan& plan, int stage,
                              int first_gpu) const {
    if (stage + 1 == plan.num_stages()) return 0;
    const OperatorCut cut = plan.stages[stage].plan.end;
    const int from = plan.stages[stage].plan.parallelism.num_gpus();
    const int to = plan.stages[stage + 1].plan.parallelism.num_gpus();
    return SecondsToNextStage(island_, options_, first_gpu, from, to,
                              layers_.at(cut.layer), cut.op);
  }

  const ModelSlice& slice_;
  const SliceLayers layers_;
  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  const int num_microbatches_;
};

}  // namespace

void EstimatePlans(const ModelSlice& slice, const IslandSpec& island,
                   const ParallelizeOptions& options, SlicePlanSet& answer) {
  const PlanEstimator estimator(slice, island, options);
  double least_short = std::numeric_limits<double>::infinity();
  std::vector<SlicePlan> fitting;
  std::vector<PlanMerits> merits;
  for (SlicePlan& plan : answer.plans) {
    least_short = std::min(least_short, estimator.Estimate(plan));
    if (plan.max_trailing_stages < options.trailing_stages) continue;
    merits.push_back(MeritsOf(plan));
    fitting.push_back(std::move(plan));
  }
  const bool had_plans = !answer.plans.empty();
  answer.plans.clear();
  for (const int i : NonDominated(merits)) {
    answer.plans.push_back(std::move(fitting[i]));
  }
  if (had_plans && answer.plans.empty()) {
    answer.infeasible = {.reason = "does not fit in memory",
                         .bytes_short = std::max(least_short, 0.0)};
  }
}

}  // namespace tangram
