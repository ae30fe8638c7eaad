#include "common/domain/pipeline_schedule.h"

namespace tangram {

const char* ScheduleName(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::kGpipe:
      return "gpipe";
    case PipelineSchedule::kOneFOneB:
      return "1f1b";
    case PipelineSchedule::kInterleaved:
      return "interleaved";
    case PipelineSchedule::kZeroBubbleH1:
      return "zb-h1";
  }
  return "";
}

std::optional<PipelineSchedule> FindSchedule(absl::string_view name) {
  for (const PipelineSchedule schedule : kPipelineSchedules) {
    if (name == ScheduleName(schedule)) return schedule;
  }
  return std::nullopt;
}

}  // namespace tangram
