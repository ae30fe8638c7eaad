#ifndef TANGRAM_COMMON_WIRE_SCHEDULE_WIRE_H_
#define TANGRAM_COMMON_WIRE_SCHEDULE_WIRE_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/domain/pipeline_schedule.h"

namespace tangram {

// Returns the schedule of a name, as plans and requests hold it. Errors:
// kInvalidArgument naming `field`, the name and those that are known.
absl::StatusOr<PipelineSchedule> DecodeScheduleName(const char* field,
                                                    const std::string& name);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_SCHEDULE_WIRE_H_
