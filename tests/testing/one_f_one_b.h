#ifndef TANGRAM_TESTS_TESTING_ONE_F_ONE_B_H_
#define TANGRAM_TESTS_TESTING_ONE_F_ONE_B_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/closed_form.h"
#include "common/sim/play_pipeline.h"

namespace tangram::testing {

// Plays the 1F1B schedule with each stage on its own device.
inline PipelineRun RunOneFOneB(absl::Span<const StageTimes> stages,
                               int num_microbatches,
                               std::vector<TimelineEvent>* timeline = nullptr) {
  return PlayPipeline({.schedule = PipelineSchedule::kOneFOneB,
                       .num_devices = static_cast<int>(stages.size()),
                       .num_microbatches = num_microbatches},
                      stages, timeline);
}

// Returns the closed form of the same pipeline, as the composition computes it:
// a microbatch takes a stage both passes and both transfers to the next stage,
// and the optimizer counts as part of the synchronisation.
inline double ClosedFormIterationSeconds(absl::Span<const StageTimes> stages,
                                         int num_microbatches) {
  ClosedForm form;
  for (const StageTimes& stage : stages) {
    form.AddStage(stage.forward_s + stage.backward_s + stage.send_forward_s +
                      stage.send_backward_s,
                  stage.backward_s, stage.sync_s + stage.optimizer_s);
  }
  return form.Seconds(num_microbatches);
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_ONE_F_ONE_B_H_
