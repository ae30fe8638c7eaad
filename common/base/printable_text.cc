#include "common/base/printable_text.h"

#include <algorithm>
#include <iterator>

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

// Returns the character at the start of a text that is not empty, or the byte
// there if it is not UTF-8.
absl::string_view FirstOf(absl::string_view text) {
  return text.substr(0, std::max<size_t>(Utf8Bytes(text), 1));
}

// Returns whether FirstOf found a control character or a byte that is not
// UTF-8.
bool IsControl(absl::string_view found) {
  if (found.size() == 1) {
    return absl::ascii_iscntrl(found[0]) || !absl::ascii_isascii(found[0]);
  }
  return std::any_of(std::begin(kControls), std::end(kControls),
                     [found](const ControlRange& range) {
                       return found.size() == range.first.size() &&
                              found >= range.first && found <= range.last;
                     });
}

// Returns `text` with instead(c) for each control character c.
template <typename Instead>
std::string ReplaceControls(absl::string_view text, Instead instead) {
  std::string replaced;
  replaced.reserve(text.size());
  while (!text.empty()) {
    const absl::string_view first = FirstOf(text);
    if (IsControl(first)) {
      replaced += instead(first);
    } else {
      absl::StrAppend(&replaced, first);
    }
    text.remove_prefix(first.size());
  }
  return replaced;
}

}  // namespace

size_t Utf8Bytes(absl::string_view text) {
  const auto at = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const int lead = at(0);
  if (lead < 0x80) return 1;
  const size_t size = lead < 0xC2   ? 0
                      : lead < 0xE0 ? 2
                      : lead < 0xF0 ? 3
                      : lead < 0xF5 ? 4
                                    : 0;
  // The second byte has a smaller range after some lead bytes.
  const int least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const int most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (size == 0 || at(1) < least || at(1) > most) return 0;
  for (size_t i = 2; i < size; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  return size;
}

bool IsPrintable(absl::string_view text) {
  while (!text.empty()) {
    const absl::string_view first = FirstOf(text);
    if (IsControl(first)) return false;
    text.remove_prefix(first.size());
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
