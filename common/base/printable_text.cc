#include "common/base/printable_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

constexpr absl::string_view kCut = "...";

// U+0080 to U+009F are the bytes C2 80 to C2 9F.
constexpr char kC1Lead = '\xC2';

bool IsContinuation(char c) { return (c & 0xC0) == 0x80; }

// Returns the bytes of the control character at `at`; 0: there is none.
size_t ControlBytes(absl::string_view text, size_t at) {
  if (absl::ascii_iscntrl(text[at])) return 1;
  const bool is_c1 = text[at] == kC1Lead && at + 1 < text.size() &&
                     (text[at + 1] & 0xE0) == 0x80;
  return is_c1 ? 2 : 0;
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
