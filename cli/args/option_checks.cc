#include "cli/args/option_checks.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tangram {

// The check sees the text, not the number, so that the message quotes what was
// typed.
CLI::Validator Check(std::function<bool(const std::string&)> accepts,
                     const std::string& expected) {
  return CLI::Validator(
      [accepts = std::move(accepts), expected](std::string& text) {
        return accepts(text) ? "" : absl::StrCat(text, "; expected ", expected);
      },
      /*validator_desc=*/"");
}

CLI::Validator WholeNumber(int64_t at_least, int64_t at_most,
                           const std::string& expected) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        int64_t value = 0;
        const bool is_whole = absl::SimpleAtoi(text, &value);
        if (is_whole && value >= at_least && value <= at_most) return "";
        // Other limits are part of `expected`.
        const bool is_too_large = is_whole && value > INT32_MAX;
        return absl::StrCat(
            text, "; expected ", expected,
            is_too_large ? absl::StrCat(", at most ", at_most) : "");
      },
      /*validator_desc=*/"");
}

CLI::Validator PositiveInteger() {
  return WholeNumber(1, INT32_MAX, "a positive integer");
}

CLI::Validator NumberAbove(double bound, bool inclusive,
                           const std::string& expected) {
  return Check(
      [=](const std::string& text) {
        double value = 0;
        return absl::SimpleAtod(text, &value) && std::isfinite(value) &&
               (value > bound || (inclusive && value == bound));
      },
      expected);
}

CLI::Validator NumberWithin(double least, double most) {
  return Check(
      [=](const std::string& text) {
        double value = 0;
        return absl::SimpleAtod(text, &value) && value >= least &&
               value <= most;
      },
      absl::StrCat("a number from ", least, " to ", most));
}

CLI::Validator HostAndPort() {
  return Check(
      [](const std::string& text) {
        const size_t colon = text.rfind(':');
        int port = 0;
        return colon != std::string::npos && colon > 0 &&
               absl::SimpleAtoi(text.substr(colon + 1), &port) && port > 0 &&
               port <= 65535;
      },
      "host:port");
}

void AddOffSwitch(CLI::App& app, const std::string& name, bool& value,
                  const std::string& help) {
  app.add_flag_callback(
      name, [&value] { value = false; }, help);
}

}  // namespace tangram
