#ifndef TANGRAM_COMMON_WIRE_JSON_TEXT_H_
#define TANGRAM_COMMON_WIRE_JSON_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tangram {

// kInvalidArgument with the byte offset if `text` is not one JSON value:
// "not valid JSON at offset 17: expected ':'".
absl::Status CheckJsonSyntax(absl::string_view text);

// Lays out JSON for people: what fits on one line of 80 columns stays on one
// line. `compact` must be valid
// JSON without white space between tokens. Ends in a newline.
std::string LayOutJson(absl::string_view compact);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_JSON_TEXT_H_
