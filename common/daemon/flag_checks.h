#ifndef TANGRAM_COMMON_DAEMON_FLAG_CHECKS_H_
#define TANGRAM_COMMON_DAEMON_FLAG_CHECKS_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tangram {

inline absl::Status CheckNotNegative(absl::string_view flag, double value) {
  if (value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, ": ", value, "; expected at least 0"));
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_DAEMON_FLAG_CHECKS_H_
