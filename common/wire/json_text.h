#ifndef TANGRAM_COMMON_WIRE_JSON_TEXT_H_
#define TANGRAM_COMMON_WIRE_JSON_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tangram {

// Checks that `text` is one JSON value, and that no object has a key twice.
// Protobuf takes a field by two names, "made_by" and "madeBy", so these are one
// key, however they are escaped. Returns kInvalidArgument with the byte offset:
// "not valid JSON at offset 17: expected ':'".
absl::Status CheckJsonSyntax(absl::string_view text);

// Lays out JSON for people. A value that fits on a line of 80 columns stays on
// one line. `compact` must be valid JSON without white space between tokens.
// The result ends in a newline.
std::string LayOutJson(absl::string_view compact);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_JSON_TEXT_H_
