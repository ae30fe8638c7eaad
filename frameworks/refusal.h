#ifndef TANGRAM_FRAMEWORKS_REFUSAL_H_
#define TANGRAM_FRAMEWORKS_REFUSAL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/field_error.h"

namespace tangram {

// Returns "stages[1].plan.parallelism.cp_degree: 2; expected 1, as ...".
template <typename Value>
absl::Status Refuse(absl::string_view field, const Value& found,
                    absl::string_view wanted) {
  return FieldError(field, found, wanted);
}

inline std::string StageField(int stage, absl::string_view field) {
  return absl::StrCat("stages[", stage, "]", field);
}

// Puts the name of the target in front of an error.
inline absl::Status InTarget(absl::string_view name,
                             const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(name, ": ", status.message()));
}

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_REFUSAL_H_
