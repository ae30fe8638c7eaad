#ifndef TANGRAM_COMMON_BASE_IN_FIELD_H_
#define TANGRAM_COMMON_BASE_IN_FIELD_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tangram {

// Puts `field.` (or `field[index].`) in front of the path of an error: in
// "stages[1]", "begin: ..." becomes "stages[1].begin: ...".
inline absl::Status InField(absl::string_view field,
                            const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(field, ".", status.message()));
}
inline absl::Status InField(absl::string_view field, int index,
                            const absl::Status& status) {
  if (status.ok()) return status;
  return InField(absl::StrCat(field, "[", index, "]"), status);
}

template <typename T>
absl::StatusOr<T> InField(absl::string_view field, absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return InField(field, value.status());
}
template <typename T>
absl::StatusOr<T> InField(absl::string_view field, int index,
                          absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return InField(field, index, value.status());
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_IN_FIELD_H_
