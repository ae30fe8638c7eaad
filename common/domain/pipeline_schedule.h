#ifndef TANGRAM_COMMON_DOMAIN_PIPELINE_SCHEDULE_H_
#define TANGRAM_COMMON_DOMAIN_PIPELINE_SCHEDULE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

// The order in which the devices of a pipeline run the passes of one iteration.
// A device here is the group of GPUs that runs a stage.
enum class PipelineSchedule {
  // All forward passes, then all backward passes (GPipe, 1811.06965).
  kGpipe,
  // After a warm-up, forward and backward passes alternate (PipeDream-flush, as
  // in Megatron-LM, 2104.04473 §2.2).
  kOneFOneB,
  // 1F1B with several chunks of the model on each device, run in turn
  // (Megatron-LM, 2104.04473 §2.2).
  kInterleaved,
  // 1F1B with separate passes for the gradients of inputs and of weights. The
  // latter are delayed into time that would be idle (2401.10241 §2.1).
  kZeroBubbleH1,
};

inline constexpr PipelineSchedule kPipelineSchedules[] = {
    PipelineSchedule::kGpipe, PipelineSchedule::kOneFOneB,
    PipelineSchedule::kInterleaved, PipelineSchedule::kZeroBubbleH1};

const char* ScheduleName(PipelineSchedule schedule);  // "1f1b"
std::optional<PipelineSchedule> FindSchedule(absl::string_view name);

// Returns all names, for messages: "gpipe or 1f1b or ...".
std::string ScheduleNames();

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_PIPELINE_SCHEDULE_H_
