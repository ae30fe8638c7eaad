#ifndef TANGRAM_COMMON_BASE_FIELD_ERROR_H_
#define TANGRAM_COMMON_BASE_FIELD_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tangram {

// Returns the error of all bad input, kInvalidArgument:
//   slice.runs[1].count: 0; expected a positive integer
inline absl::Status FieldError(absl::string_view field,
                               const absl::AlphaNum& found,
                               absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", found, "; expected ", expected));
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_FIELD_ERROR_H_
