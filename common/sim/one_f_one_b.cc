#include "common/sim/one_f_one_b.h"

#include "common/domain/closed_form.h"

namespace tangram {
PipelineRun RunOneFOneB(absl::Span<const StageTimes> stages,
                        int num_microbatches,
                        std::vector<TimelineEvent>* timeline) {
  return PlayPipeline({.schedule = PipelineSchedule::kOneFOneB,
                       .num_devices = static_cast<int>(stages.size()),
                       .num_microbatches = num_microbatches},
                      stages, timeline);
}

// See one_f_one_b.h. The optimizer counts as part of the synchronisation.
double ClosedFormIterationSeconds(absl::Span<const StageTimes> stages,
                                  int num_microbatches) {
  ClosedForm form;
  for (const StageTimes& stage : stages) {
    form.AddStage(stage.forward_s + stage.backward_s + stage.send_forward_s +
                      stage.send_backward_s,
                  stage.backward_s, stage.sync_s + stage.optimizer_s);
  }
  return form.Seconds(num_microbatches);
}

}  // namespace tangram
