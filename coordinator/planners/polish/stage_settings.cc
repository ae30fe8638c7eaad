#include "coordinator/planners/polish/stage_settings.h"

#include <algorithm>

#include "common/cost/stage_cost.h"
#include "common/sim/held_microbatches.h"
#include "common/sim/memory_holding.h"
#include "common/sim/stage_figures.h"

namespace tangram {

std::vector<int> HeldByStages(const PipelinePlan& plan,
                              const TrainingOptions& training) {
  const std::vector<double> equal_bytes(plan.num_stages(), 1.0);
  return MicrobatchesHeldAtPeak(ShapeOf(plan, training), equal_bytes);
}

StageSetting SettingOf(StageEstimator& estimator, const PipelinePlan& plan,
                       absl::Span<const int> held, int position) {
  const PipelineShape shape = ShapeOf(plan, estimator.training());
  StageSetting setting{.microbatch_size = plan.pipeline_microbatch_size,
                       .num_microbatches = shape.num_microbatches,
                       .held = HeldOf(shape, position, held[position])};
  const int device = position % shape.num_devices;
  for (int s = device; s < plan.num_stages(); s += shape.num_devices) {
    if (s == position) continue;
    const PlacedStage& other = plan.stages[s];
    const StageMemory memory = MemoryHolding(
        estimator, other, plan.pipeline_microbatch_size,
        HeldOf(shape, s, held[s]),
        estimator.CostOf(other, plan.pipeline_microbatch_size).memory);
    // The stage itself counts the runtime's reserve.
    const double reserved_bytes =
        estimator.DeviceOf(other.gpus).efficiency.reserved_bytes;
    setting.taken_bytes +=
        memory.static_bytes - reserved_bytes + memory.activation_bytes;
    setting.taken_host_bytes += memory.HostBytes(/*in_flight=*/1);
    setting.taken_transient_bytes =
        std::max(setting.taken_transient_bytes, memory.transient_bytes);
  }
  return setting;
}

std::vector<double> DeviceSeconds(const PipelinePlan& plan,
                                  absl::Span<const StageEvaluation> stages) {
  std::vector<double> seconds(plan.num_devices());
  for (size_t s = 0; s < stages.size(); ++s) {
    seconds[s % seconds.size()] +=
        stages[s].forward_s + stages[s].backward_s + stages[s].send_s;
  }
  return seconds;
}

}  // namespace tangram
