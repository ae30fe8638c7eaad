#ifndef TANGRAM_FORMATS_CONFIG_NEAREST_NAME_H_
#define TANGRAM_FORMATS_CONFIG_NEAREST_NAME_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tangram {

// Returns the known name that `name` was probably meant to be: the one with the
// fewest single-character edits and swaps of neighbours, the first of several.
// Empty if the distance exceeds a third of the name (at least 1).
absl::string_view NearestName(absl::string_view name,
                              absl::Span<const absl::string_view> known);

// Returns "; did you mean llama2-7b?" for a name that was probably meant, else
// an empty text: the rest of an error about `name`.
std::string DidYouMean(absl::string_view name,
                       absl::Span<const absl::string_view> known);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_NEAREST_NAME_H_
