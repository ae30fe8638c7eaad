#ifndef TANGRAM_CLI_VALIDATION_TEXT_MATCH_H_
#define TANGRAM_CLI_VALIDATION_TEXT_MATCH_H_

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace tangram {

// Returns whether `text` contains `part`, ignoring case.
inline bool Mentions(absl::string_view text, absl::string_view part) {
  return absl::StrContains(absl::AsciiStrToLower(text),
                           absl::AsciiStrToLower(part));
}

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_TEXT_MATCH_H_
