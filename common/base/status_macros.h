#ifndef TANGRAM_COMMON_BASE_STATUS_MACROS_H_
#define TANGRAM_COMMON_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Debian's Abseil (20220623) has no status macros. These are the two that we
// use.

#define TANGRAM_RETURN_IF_ERROR(expression)                     \
  do {                                                          \
    if (::absl::Status _status = (expression); !_status.ok()) { \
      return _status;                                           \
    }                                                           \
  } while (false)

#define TANGRAM_INTERNAL_CONCAT_(a, b) a##b
#define TANGRAM_INTERNAL_CONCAT(a, b) TANGRAM_INTERNAL_CONCAT_(a, b)

#define TANGRAM_ASSIGN_OR_RETURN(lhs, expression) \
  TANGRAM_INTERNAL_ASSIGN_OR_RETURN(              \
      TANGRAM_INTERNAL_CONCAT(_status_or_, __LINE__), lhs, expression)

#define TANGRAM_INTERNAL_ASSIGN_OR_RETURN(status_or, lhs, expression) \
  auto status_or = (expression);                                      \
  if (!status_or.ok()) return std::move(status_or).status();          \
  lhs = *std::move(status_or)

#endif  // TANGRAM_COMMON_BASE_STATUS_MACROS_H_
