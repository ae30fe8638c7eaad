#include "cli/args/prices.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace tangram {

absl::StatusOr<std::vector<double>> ParsePrices(
    const std::string& text, absl::Span<const std::string> groups) {
  std::map<std::string, double> prices;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    double price = 0;
    if (!absl::SimpleAtod(sides.second, &price) || !(price >= 0) ||
        price > 1e12) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--prices: ", part, "; expected <group>=<price of a node-hour>"));
    }
    if (!prices.emplace(sides.first, price).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--prices: ", sides.first, " twice; expected one price of a group"));
    }
  }
  std::vector<double> by_group;
  for (const std::string& group : groups) {
    const auto it = prices.find(group);
    if (it == prices.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--prices: no ", group, "; expected a price of each of ",
                       absl::StrJoin(groups, ", ")));
    }
    by_group.push_back(it->second);
    prices.erase(it);
  }
  if (prices.empty()) return by_group;
  return absl::InvalidArgumentError(absl::StrCat(
      "--prices: ", prices.begin()->first, "; expected one of the groups ",
      absl::StrJoin(groups, ", ")));
}

}  // namespace tangram
