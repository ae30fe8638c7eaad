#ifndef TANGRAM_FORMATS_CONFIG_NEAREST_NAME_H_
#define TANGRAM_FORMATS_CONFIG_NEAREST_NAME_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tangram {

// The known name that `name` was probably meant to be: the fewest single
// character edits away, the first of several; empty if none is near.
absl::string_view NearestName(absl::string_view name,
                              absl::Span<const absl::string_view> known);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_NEAREST_NAME_H_
