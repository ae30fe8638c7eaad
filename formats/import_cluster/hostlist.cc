#include "formats/import_cluster/hostlist.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "formats/config/group_fields.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

using Names = std::vector<std::string>;

// Limit of the digits of a number in a name; 9 fit an int.
constexpr size_t kMaxDigits = 9;

absl::Status Error(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      Shown(text), "; expected a list of nodes such as n[01-04,07]"));
}

absl::Status TooMany(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(Shown(text), "; expected at ",
                                                 "most ", kMaxNodes, " nodes"));
}

bool IsNumber(absl::string_view text) {
  if (text.empty() || text.size() > kMaxDigits) return false;
  for (const char c : text) {
    if (!absl::ascii_isdigit(c)) return false;
  }
  return true;
}

// Expands "07" or "01-04". Numbers are padded to the width of the first.
absl::Status AppendRange(absl::string_view range, Names& numbers) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(range, absl::MaxSplits('-', 1));
  const bool is_range = range.find('-') != absl::string_view::npos;
  const absl::string_view last = is_range ? ends.second : ends.first;
  int64_t from = 0;
  int64_t to = 0;
  if (!IsNumber(ends.first) || !IsNumber(last) ||
      !absl::SimpleAtoi(ends.first, &from) || !absl::SimpleAtoi(last, &to) ||
      to < from) {
    return Error(range);
  }
  if (to - from >= kMaxNodes - static_cast<int64_t>(numbers.size())) {
    return TooMany(range);
  }
  const int width = static_cast<int>(ends.first.size());
  for (int64_t n = from; n <= to; ++n) {
    numbers.push_back(absl::StrFormat("%0*d", width, n));
  }
  return absl::OkStatus();
}

// Returns every head followed by every tail; the tail varies fastest.
absl::StatusOr<Names> Product(const Names& heads, const Names& tails) {
  if (heads.size() * tails.size() > kMaxNodes) return TooMany(heads.front());
  Names names;
  names.reserve(heads.size() * tails.size());
  for (const std::string& head : heads) {
    for (const std::string& tail : tails) {
      names.push_back(absl::StrCat(head, tail));
    }
  }
  return names;
}

// Expands one entry, such as "r[0-1]n[0-1]".
absl::StatusOr<Names> ExpandEntry(absl::string_view entry) {
  Names names = {""};
  for (absl::string_view rest = entry; !rest.empty();) {
    const size_t open = rest.find('[');
    TANGRAM_ASSIGN_OR_RETURN(
        names, Product(names, {std::string(rest.substr(0, open))}));
    if (open == absl::string_view::npos) break;
    const size_t close = rest.find(']', open);
    if (close == absl::string_view::npos) return Error(entry);
    Names numbers;
    for (const absl::string_view range :
         absl::StrSplit(rest.substr(open + 1, close - open - 1), ',')) {
      TANGRAM_RETURN_IF_ERROR(AppendRange(range, numbers));
    }
    TANGRAM_ASSIGN_OR_RETURN(names, Product(names, numbers));
    rest.remove_prefix(close + 1);
  }
  return names;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandHostlist(
    absl::string_view text) {
  Names names;
  for (const absl::string_view raw : SplitOutside(text, '[', ']')) {
    const absl::string_view entry = absl::StripAsciiWhitespace(raw);
    if (entry.empty()) return Error(text);
    TANGRAM_ASSIGN_OR_RETURN(Names expanded, ExpandEntry(entry));
    if (names.size() + expanded.size() > kMaxNodes) return TooMany(text);
    names.insert(names.end(), std::make_move_iterator(expanded.begin()),
                 std::make_move_iterator(expanded.end()));
  }
  return names;
}

}  // namespace tangram
