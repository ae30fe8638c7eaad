#ifndef TANGRAM_COMMON_HTTP_PERCENT_DECODE_H_
#define TANGRAM_COMMON_HTTP_PERCENT_DECODE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

// Replaces the escapes of RFC 3986, "%2F", by their characters. Returns nothing
// if a % has no two hexadecimal digits after it, or if the result is not UTF-8
// or holds the character 0, at which names would end.
std::optional<std::string> PercentDecoded(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_COMMON_HTTP_PERCENT_DECODE_H_
