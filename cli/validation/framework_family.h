#ifndef TANGRAM_CLI_VALIDATION_FRAMEWORK_FAMILY_H_
#define TANGRAM_CLI_VALIDATION_FRAMEWORK_FAMILY_H_

#include "absl/strings/string_view.h"

namespace tangram {

// Returns the name under which the residuals of a framework are kept
// (PredictionTraits::framework): releases that run alike have one name. Empty
// for a framework that is not known.
absl::string_view FrameworkFamily(absl::string_view framework);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_FRAMEWORK_FAMILY_H_
