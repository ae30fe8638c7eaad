#ifndef TANGRAM_CLI_ARGS_GROUP_VALUES_H_
#define TANGRAM_CLI_ARGS_GROUP_VALUES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// Options with a value for each group of nodes. Errors are kInvalidArgument and
// name the option, the part at fault and what was `expected`.
namespace tangram {

// Splits "h100=98.3,a100=32.8" into the text of each group; empty for groups
// that are not named.
absl::StatusOr<std::vector<std::string>> ValuesByGroup(
    absl::string_view option, const std::string& text,
    absl::Span<const std::string> groups, absl::string_view expected);

// Returns the number, from 0 to `most`, in the `text` of one group. `part` is
// the whole part, "h100=98.3".
absl::StatusOr<double> NumberOfGroup(absl::string_view option,
                                     absl::string_view part,
                                     absl::string_view text, double most,
                                     absl::string_view expected);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_GROUP_VALUES_H_
