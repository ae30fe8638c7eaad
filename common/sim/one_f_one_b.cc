#include "common/sim/one_f_one_b.h"

#include <algorithm>

namespace tangram {
PipelineRun RunOneFOneB(absl::Span<const StageTimes> stages,
                        int num_microbatches,
                        std::vector<TimelineEvent>* timeline) {
  return PlayPipeline({.schedule = PipelineSchedule::kOneFOneB,
                       .num_devices = static_cast<int>(stages.size()),
                       .num_microbatches = num_microbatches},
                      stages, timeline);
}

double ClosedFormIterationSeconds(absl::Span<const StageTimes> stages,
                                  int num_microbatches) {
  double sum_s = 0;
  double slowest_s = 0;
  double exposed_s = 0;
  double backward_before_s = 0;
  for (const StageTimes& stage : stages) {
    const double time_s = stage.forward_s + stage.backward_s +
                          stage.send_forward_s + stage.send_backward_s;
    sum_s += time_s;
    slowest_s = std::max(slowest_s, time_s);
    exposed_s = std::max(exposed_s,
                         stage.sync_s + stage.optimizer_s - backward_before_s);
    backward_before_s += stage.backward_s;
  }
  return sum_s + (num_microbatches - 1) * slowest_s + exposed_s;
}

}  // namespace tangram
