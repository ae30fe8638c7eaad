#ifndef TANGRAM_COMMON_DAEMON_FLAG_CHECKS_H_
#define TANGRAM_COMMON_DAEMON_FLAG_CHECKS_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/field_error.h"

namespace tangram {

// About eleven days: longer than anyone waits, and within the range of clocks.
inline constexpr double kLongestWaitS = 1e6;

inline absl::Status CheckFlagNotNegative(absl::string_view flag, double value) {
  if (value >= 0) return absl::OkStatus();
  return FieldError(absl::StrCat("--", flag), value, "at least 0");
}

// Checks that a flag is from 0 to `max`.
inline absl::Status CheckFlagAtMost(absl::string_view flag, double value,
                                    double max) {
  if (value >= 0 && value <= max) return absl::OkStatus();
  return FieldError(absl::StrCat("--", flag), value,
                    absl::StrCat("0 to ", max));
}

// Checks that a flag is more than 0 and at most `max`.
inline absl::Status CheckFlagPositive(absl::string_view flag, double value,
                                      double max) {
  if (value > 0 && value <= max) return absl::OkStatus();
  return FieldError(absl::StrCat("--", flag), value,
                    absl::StrCat("more than 0 and at most ", max));
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_DAEMON_FLAG_CHECKS_H_
