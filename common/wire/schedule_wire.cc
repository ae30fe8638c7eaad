#include "common/wire/schedule_wire.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"

namespace tangram {

absl::StatusOr<PipelineSchedule> DecodeScheduleName(const char* field,
                                                    const std::string& name) {
  const std::optional<PipelineSchedule> known = FindSchedule(name);
  if (known.has_value()) return *known;
  return FieldError(field, absl::StrCat("\"", name, "\""), ScheduleNames());
}

}  // namespace tangram
