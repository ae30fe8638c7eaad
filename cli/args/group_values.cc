#include "cli/args/group_values.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tangram {

absl::StatusOr<std::vector<std::string>> ValuesByGroup(
    absl::string_view option, const std::string& text,
    absl::Span<const std::string> groups, absl::string_view expected) {
  std::vector<std::string> by_group(groups.size());
  if (text.empty()) return by_group;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (sides.second.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          option, ": ", absl::Utf8SafeCEscape(part), "; expected ", expected));
    }
    size_t g = 0;
    while (g < groups.size() && groups[g] != sides.first) ++g;
    if (g == groups.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          option, ": ", absl::Utf8SafeCEscape(sides.first),
          "; expected one of the groups ", absl::StrJoin(groups, ", ")));
    }
    if (!by_group[g].empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          option, ": ", groups[g], " twice; expected each group once"));
    }
    by_group[g] = std::string(sides.second);
  }
  return by_group;
}

absl::StatusOr<double> NumberOfGroup(absl::string_view option,
                                     absl::string_view part,
                                     absl::string_view text, double most,
                                     absl::string_view expected) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !(number >= 0) || number > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        option, ": ", absl::Utf8SafeCEscape(part), "; expected ", expected));
  }
  return number;
}

}  // namespace tangram
