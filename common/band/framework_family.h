#ifndef TANGRAM_COMMON_BAND_FRAMEWORK_FAMILY_H_
#define TANGRAM_COMMON_BAND_FRAMEWORK_FAMILY_H_

#include "absl/strings/string_view.h"

namespace tangram {

// Returns the name under which the residuals of a framework are kept
// (PredictionTraits::framework): releases that run alike have one name. Empty
// for a framework that is not known.
absl::string_view FrameworkFamily(absl::string_view framework);

// Returns whether both frameworks are known and of different families. Their
// kernels take the same time, their memory differs.
inline bool AreUnlikeFrameworks(absl::string_view a, absl::string_view b) {
  const absl::string_view family = FrameworkFamily(a);
  const absl::string_view other = FrameworkFamily(b);
  return !family.empty() && !other.empty() && family != other;
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_BAND_FRAMEWORK_FAMILY_H_
