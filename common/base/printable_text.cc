#include "common/base/printable_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

constexpr absl::string_view kCut = "...";

bool IsContinuation(char c) { return (c & 0xC0) == 0x80; }

// Characters that a terminal obeys, as the first and the last of each range in
// UTF-8. All of a range have the same length and differ in the last byte alone.
struct ControlRange {
  absl::string_view first;
  absl::string_view last;
};
constexpr ControlRange kControls[] = {
    {"\xC2\x80", "\xC2\x9F"},          // U+0080 to U+009F: C1.
    {"\xD8\x9C", "\xD8\x9C"},          // U+061C: a direction.
    {"\xE2\x80\x8E", "\xE2\x80\x8F"},  // U+200E, U+200F: directions.
    {"\xE2\x80\xA8", "\xE2\x80\xAE"},  // U+2028 to U+202E: ends of lines and
                                       // of paragraphs, and directions.
    {"\xE2\x81\xA6", "\xE2\x81\xA9"},  // U+2066 to U+2069: directions.
};

// Returns the bytes of the control character at `at`; 0: there is none.
size_t ControlBytes(absl::string_view text, size_t at) {
  if (absl::ascii_iscntrl(text[at])) return 1;
  if (absl::ascii_isascii(text[at])) return 0;
  for (const ControlRange& range : kControls) {
    const size_t size = range.first.size();
    const absl::string_view found = text.substr(at, size);
    if (found.size() == size && found >= range.first && found <= range.last) {
      return size;
    }
  }
  return 0;
}

// Returns `text` with instead(c) for each control character c.
template <typename Instead>
std::string ReplaceControls(absl::string_view text, Instead instead) {
  std::string replaced;
  replaced.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t control = ControlBytes(text, i);
    if (control > 0) {
      replaced += instead(text.substr(i, control));
    } else {
      replaced.push_back(text[i]);
    }
    i += std::max<size_t>(control, 1);
  }
  return replaced;
}

}  // namespace

bool IsPrintable(absl::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (ControlBytes(text, i) > 0) return false;
  }
  return true;
}

std::string EscapedControls(absl::string_view text) {
  return ReplaceControls(text, [](absl::string_view control) {
    return control == "\n" ? std::string(control) : absl::CHexEscape(control);
  });
}

std::string PrintableText(absl::string_view text, size_t max_bytes) {
  const bool is_cut = text.size() > max_bytes;
  if (is_cut) {
    size_t end = max_bytes - kCut.size();
    while (end > 0 && IsContinuation(text[end])) --end;
    text = text.substr(0, end);
  }
  std::string printable = ReplaceControls(text, [](absl::string_view control) {
    return absl::ascii_isspace(control.front()) ? " " : "?";
  });
  if (is_cut) absl::StrAppend(&printable, kCut);
  return printable;
}

}  // namespace tangram
