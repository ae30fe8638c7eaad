#include "common/domain/pipeline_schedule.h"

#include "absl/strings/str_join.h"

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

std::string ScheduleNames() {
  return absl::StrJoin(kPipelineSchedules, " or ",
                       [](std::string* out, PipelineSchedule schedule) {
                         *out += ScheduleName(schedule);
                       });
}

}  // namespace tangram
