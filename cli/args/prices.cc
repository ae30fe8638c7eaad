#include "cli/args/prices.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/args/group_values.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

constexpr char kOption[] = "--prices";
constexpr char kExpected[] = "<group>=<price of a node-hour>";
constexpr double kMostPrice = 1e12;

}  // namespace

absl::StatusOr<std::vector<double>> ParsePrices(
    const std::string& text, absl::Span<const std::string> groups) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<std::string> values,
                           ValuesByGroup(kOption, text, groups, kExpected));
  std::vector<double> prices;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (values[g].empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          kOption, ": no ", groups[g], "; expected a price of each of ",
          absl::StrJoin(groups, ", ")));
    }
    TANGRAM_ASSIGN_OR_RETURN(
        const double price,
        NumberOfGroup(kOption, absl::StrCat(groups[g], "=", values[g]),
                      values[g], kMostPrice, kExpected));
    prices.push_back(price);
  }
  return prices;
}

}  // namespace tangram
