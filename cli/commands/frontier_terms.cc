#include "cli/commands/frontier_terms.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/args/group_values.h"
#include "cli/args/prices.h"
#include "cli/files/input_file.h"
#include "cli/files/price_file.h"
#include "common/base/status_macros.h"
#include "formats/catalogue/device_power.h"
#include "formats/config/device_catalogue.h"

namespace tangram {
namespace {

constexpr int64_t kMaxPriceBytes = 64 << 20;
constexpr double kMostFailures = 3600;  // One a second.
constexpr double kMostWatts = 1e5;

absl::Status AddListedPrices(const std::string& text, Frontier& frontier) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<double> prices,
                           ParsePrices(text, frontier.groups));
  for (size_t g = 0; g < prices.size(); ++g) {
    frontier.terms.groups[g].node_hour_price = prices[g];
  }
  return absl::OkStatus();
}

absl::Status AddPricesOfFile(const FrontierOptions& options,
                             Frontier& frontier) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string text,
                           ReadInputFile(options.prices, kMaxPriceBytes));
  std::vector<PricedGroup> groups;
  for (size_t g = 0; g < frontier.groups.size(); ++g) {
    groups.push_back({.name = frontier.groups[g],
                      .device = frontier.devices[g],
                      .gpus_per_node = frontier.terms.groups[g].gpus_per_node});
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<double> prices,
      ReadPrices(text, InputName(options.prices), groups,
                 {.region = options.region, .spot = options.spot}));
  for (size_t g = 0; g < prices.size(); ++g) {
    frontier.terms.groups[g].node_hour_price = prices[g];
  }
  return absl::OkStatus();
}

// A list has an equals sign, a path that has one can be written "./a=b".
absl::Status AddPrices(const FrontierOptions& options, Frontier& frontier) {
  const bool is_list = absl::StrContains(options.prices, '=') &&
                       !absl::StrContains(options.prices, '/');
  if (is_list || options.prices.empty()) {
    if (options.spot || !options.region.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          options.spot ? "--spot" : "--region", ": needs a file of --prices"));
    }
    return is_list ? AddListedPrices(options.prices, frontier)
                   : absl::OkStatus();
  }
  return AddPricesOfFile(options, frontier);
}

absl::Status AddFailures(const std::string& text, Frontier& frontier) {
  constexpr absl::string_view kExpected =
      "<group>=<failures of a node in an hour>";
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<std::string> rates,
      ValuesByGroup("--failures", text, frontier.groups, kExpected));
  for (size_t g = 0; g < rates.size(); ++g) {
    if (rates[g].empty()) continue;
    TANGRAM_ASSIGN_OR_RETURN(
        frontier.terms.groups[g].failures_per_hour,
        NumberOfGroup("--failures",
                      absl::StrCat(frontier.groups[g], "=", rates[g]), rates[g],
                      kMostFailures, kExpected));
  }
  return absl::OkStatus();
}

// The catalogue's power, unless the option says it.
absl::Status AddPower(const std::string& text, Frontier& frontier) {
  constexpr absl::string_view kExpected = "<group>=<idle watts>..<busy watts>";
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<std::string> powers,
      ValuesByGroup("--power", text, frontier.groups, kExpected));
  for (size_t g = 0; g < powers.size(); ++g) {
    GroupTerms& group = frontier.terms.groups[g];
    const CatalogueDevice* const device = FindDevice(frontier.devices[g]);
    if (device != nullptr) {
      const auto known = FindDevicePower(device->device.type);
      if (known.has_value()) {
        group.idle_w = known->idle_w;
        group.busy_w = known->busy_w;
      }
    }
    if (powers[g].empty()) continue;
    const std::string part = absl::StrCat(frontier.groups[g], "=", powers[g]);
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(powers[g], absl::MaxSplits("..", 1));
    TANGRAM_ASSIGN_OR_RETURN(
        group.idle_w,
        NumberOfGroup("--power", part, ends.first, kMostWatts, kExpected));
    TANGRAM_ASSIGN_OR_RETURN(
        group.busy_w,
        NumberOfGroup("--power", part, ends.second, kMostWatts, kExpected));
    if (*group.busy_w < *group.idle_w) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--power: ", part, "; expected at least as much busy as idle"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNeeds(const FrontierOptions& options) {
  const auto need = [](bool given, bool met, absl::string_view what) {
    return !given || met ? absl::OkStatus() : absl::InvalidArgumentError(what);
  };
  const bool has_tokens = options.tokens.has_value();
  absl::Status status;
  status.Update(need(options.deadline_hours.has_value(), has_tokens,
                     "--deadline: needs --tokens"));
  status.Update(need(options.budget.has_value(),
                     has_tokens && !options.prices.empty(),
                     "--budget: needs --tokens and --prices"));
  status.Update(need(options.certainty.has_value(),
                     options.deadline_hours.has_value(),
                     "--certainty: needs --deadline"));
  status.Update(need(options.price_of_an_hour.has_value(), has_tokens,
                     "--hour-is-worth: needs --tokens"));
  status.Update(need(options.checkpoint_s.has_value(),
                     !options.failures.empty(),
                     "--checkpoint: needs --failures"));
  status.Update(need(options.restart_s.has_value(), !options.failures.empty(),
                     "--restart: needs --failures"));
  return status;
}

}  // namespace

absl::Status AddTerms(const FrontierOptions& options, Frontier& frontier) {
  TANGRAM_RETURN_IF_ERROR(CheckNeeds(options));
  ObjectiveTerms& terms = frontier.terms;
  terms.tokens = options.tokens;
  terms.deadline_hours = options.deadline_hours;
  terms.budget = options.budget;
  terms.certainty = options.certainty.value_or(terms.certainty);
  terms.price_of_an_hour = options.price_of_an_hour;
  terms.checkpoint_s = options.checkpoint_s.value_or(0);
  terms.restart_s = options.restart_s.value_or(0);
  terms.power_usage_effectiveness =
      options.power_usage_effectiveness.value_or(1);
  terms.grams_per_kwh = options.grams_per_kwh;
  terms.least_memory_free = options.least_memory_free.value_or(0);
  frontier.shows_energy = !options.power.empty() ||
                          options.power_usage_effectiveness.has_value() ||
                          options.grams_per_kwh.has_value();
  TANGRAM_RETURN_IF_ERROR(AddPrices(options, frontier));
  TANGRAM_RETURN_IF_ERROR(AddFailures(options.failures, frontier));
  return AddPower(options.power, frontier);
}

}  // namespace tangram
