#ifndef TANGRAM_COMMON_BASE_PRINTABLE_TEXT_H_
#define TANGRAM_COMMON_BASE_PRINTABLE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

// Returns whether no character of a UTF-8 text is a control character, which
// terminals obey: below U+0020, from U+007F to U+009F, or one that ends a line
// (U+2028, U+2029) or turns the direction of the text after it (U+061C, U+200E,
// U+200F, U+202A to U+202E, U+2066 to U+2069), so that it reads as another.
bool IsPrintable(absl::string_view text);

// Returns a text with every control character but the end of a line as an
// escape: "\x1b". For terminals, which show texts of files.
std::string EscapedControls(absl::string_view text);

// Returns a text from outside so that logs, terminals and memory can take it:
// ends of lines and tabs become spaces, other control characters become "?",
// and a text longer than `max_bytes` is cut between two characters and ends in
// "...". The result has at most `max_bytes` bytes, which must be at least 3.
std::string PrintableText(absl::string_view text, size_t max_bytes);

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_PRINTABLE_TEXT_H_
