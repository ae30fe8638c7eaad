#include "common/wire/field_checks.h"

#include <cmath>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/field_error.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

std::string Number(double value) { return absl::StrFormat("%.17g", value); }

}  // namespace

absl::Status CheckPositive(absl::string_view field, double value) {
  if (std::isfinite(value) && value > 0) return absl::OkStatus();
  return FieldError(field, Number(value), "a positive number");
}

absl::Status CheckNotNegative(absl::string_view field, double value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return FieldError(field, Number(value), "a number of at least 0");
}

absl::Status CheckWithin(absl::string_view field, double value, double min,
                         double max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return FieldError(field, Number(value),
                    absl::StrCat("a number from ", min, " to ", max));
}

absl::Status CheckFraction(absl::string_view field, double value) {
  if (value >= 0 && value <= 1) return absl::OkStatus();
  return FieldError(field, Number(value), "a fraction from 0 to 1");
}

absl::Status CheckFinite(absl::string_view field, double value) {
  if (std::isfinite(value)) return absl::OkStatus();
  return FieldError(field, Number(value), "a finite number");
}

absl::Status CheckPositive(absl::string_view field, int64_t value,
                           int64_t max) {
  if (value >= 1 && value <= max) return absl::OkStatus();
  return FieldError(field, absl::StrCat(value),
                    value < 1 ? "a positive integer"
                              : absl::StrCat("an integer of at most ", max));
}

absl::Status CheckNotNegative(absl::string_view field, int64_t value,
                              int64_t max) {
  if (value >= 0 && value <= max) return absl::OkStatus();
  return FieldError(field, absl::StrCat(value),
                    absl::StrCat("an integer from 0 to ", max));
}

absl::Status CheckIndex(absl::string_view field, int64_t value, int64_t size) {
  if (value >= 0 && value < size) return absl::OkStatus();
  return FieldError(field, absl::StrCat(value),
                    absl::StrCat("an index below ", size));
}

absl::Status CheckCount(absl::string_view field, int64_t count, int64_t max) {
  if (count <= max) return absl::OkStatus();
  return FieldError(field, absl::StrCat(count, " elements"),
                    absl::StrCat("at most ", max));
}

absl::Status CheckLength(absl::string_view field, absl::string_view text,
                         int max_bytes) {
  if (text.size() <= static_cast<size_t>(max_bytes)) return absl::OkStatus();
  return FieldError(field, absl::StrCat(text.size(), " bytes"),
                    absl::StrCat("at most ", max_bytes));
}

absl::Status CheckNotEmpty(absl::string_view field, absl::string_view value) {
  if (!value.empty()) return absl::OkStatus();
  return FieldError(field, "empty", "a name");
}

absl::Status CheckName(absl::string_view field, absl::string_view value) {
  TANGRAM_RETURN_IF_ERROR(CheckNotEmpty(field, value));
  return CheckLabel(field, value);
}

absl::Status CheckLabel(absl::string_view field, absl::string_view text) {
  TANGRAM_RETURN_IF_ERROR(CheckLength(field, text, kMaxNameBytes));
  return CheckPrintable(field, text);
}

absl::Status CheckPrintable(absl::string_view field, absl::string_view text) {
  if (IsPrintable(text)) return absl::OkStatus();
  return FieldError(field, absl::StrCat("\"", absl::CHexEscape(text), "\""),
                    "no control characters");
}

absl::Status CheckWorkerName(absl::string_view field, absl::string_view value) {
  TANGRAM_RETURN_IF_ERROR(CheckName(field, value));
  if (value.find('@') == absl::string_view::npos) return absl::OkStatus();
  return FieldError(field, absl::StrCat("\"", value, "\""),
                    "no \"@\", which sources of workers have");
}

bool IsDotSegment(absl::string_view name) {
  return name == "." || name == "..";
}

absl::Status CheckPresent(absl::string_view field, bool present) {
  if (present) return absl::OkStatus();
  return FieldError(field, "missing", "a value");
}

absl::Status FirstError(std::initializer_list<absl::Status> checks) {
  for (const absl::Status& status : checks) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace tangram
