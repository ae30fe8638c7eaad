#ifndef TANGRAM_COMMON_BASE_PRINTABLE_TEXT_H_
#define TANGRAM_COMMON_BASE_PRINTABLE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

// Returns the bytes of the UTF-8 character at the start of `text` (RFC 3629).
// Returns 0 if there is none: a stray or missing continuation, an overlong
// form, half of a surrogate pair, or more than U+10FFFF.
size_t Utf8Bytes(absl::string_view text);

// Returns whether a text is UTF-8 and has no control character, which
// terminals obey: below U+0020, from U+007F to U+009F, or one that ends a line
// (U+2028, U+2029) or turns the direction of the text after it (U+061C, U+200E,
// U+200F, U+202A to U+202E, U+2066 to U+2069), so that it reads as another.
bool IsPrintable(absl::string_view text);

// Returns a text with every control character but the end of a line, and every
// byte that is not UTF-8, as an escape: "\x1b". For terminals, which show texts
// of files.
std::string EscapedControls(absl::string_view text);

// Returns a text from outside so that logs, terminals and memory can take it:
// ends of lines and tabs become spaces, other control characters and bytes that
// are not UTF-8 become "?", and a text longer than `max_bytes` is cut between
// two characters and ends in "...". The result has at most `max_bytes` bytes,
// which must be at least 3.
std::string PrintableText(absl::string_view text, size_t max_bytes);

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_PRINTABLE_TEXT_H_
