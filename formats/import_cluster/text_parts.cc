#include "formats/import_cluster/text_parts.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tangram {

std::vector<absl::string_view> SplitOutside(absl::string_view text, char open,
                                            char close) {
  std::vector<absl::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else if (text[i] == open) {
      ++depth;
    } else if (text[i] == close) {
      --depth;
    }
  }
  return parts;
}

absl::string_view WithoutFileName(absl::string_view line) {
  const size_t colon = line.substr(0, line.find_first_of(" \t=")).rfind(':');
  return colon == absl::string_view::npos ? line : line.substr(colon + 1);
}

std::string YamlScalar(absl::string_view text) {
  const bool is_plain =
      !text.empty() && text[0] != '-' && absl::c_all_of(text, [](char c) {
        return absl::ascii_isalnum(c) || c == '.' || c == '+' || c == '_' ||
               c == '-';
      });
  if (is_plain) return std::string(text);
  return absl::StrCat("\"",
                      absl::StrReplaceAll(text, {{"\\", "\\\\"},
                                                 {"\"", "\\\""},
                                                 {"\n", "\\n"},
                                                 {"\r", "\\r"},
                                                 {"\t", "\\t"}}),
                      "\"");
}

std::string WithoutByteOrderMark(std::string text) {
  if (absl::StartsWith(text, "\xEF\xBB\xBF")) return text.substr(3);
  const bool is_little = absl::StartsWith(text, "\xFF\xFE");
  if (!is_little && !absl::StartsWith(text, "\xFE\xFF")) return text;
  std::string ascii;
  for (size_t i = 2; i + 1 < text.size(); i += 2) {
    const char high = text[is_little ? i + 1 : i];
    const char low = text[is_little ? i : i + 1];
    ascii += high == 0 && absl::ascii_isascii(low) ? low : '?';
  }
  return ascii;
}

std::string Shown(absl::string_view text) {
  // A line of a terminal.
  constexpr size_t kMaxShown = 80;
  if (text.size() <= kMaxShown) return absl::CHexEscape(text);
  return absl::StrCat(absl::CHexEscape(text.substr(0, kMaxShown)), "...");
}

}  // namespace tangram
