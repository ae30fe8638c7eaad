#include "formats/import_cluster/text_parts.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
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

std::string Shown(absl::string_view text) {
  // A line of a terminal.
  constexpr size_t kMaxShown = 80;
  if (text.size() <= kMaxShown) return absl::CHexEscape(text);
  return absl::StrCat(absl::CHexEscape(text.substr(0, kMaxShown)), "...");
}

}  // namespace tangram
