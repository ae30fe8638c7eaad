#ifndef TANGRAM_CLI_ARGS_OPTION_CHECKS_H_
#define TANGRAM_CLI_ARGS_OPTION_CHECKS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"

// Checks that many options share.
namespace tangram {

// Returns a validator that accepts what `accepts` does. Otherwise the message
// is
// "<text>; expected <expected>".
CLI::Validator Check(std::function<bool(const std::string&)> accepts,
                     const std::string& expected);

// Accepts a whole number in [at_least, at_most].
CLI::Validator WholeNumber(int64_t at_least, int64_t at_most,
                           const std::string& expected);
CLI::Validator PositiveInteger();
// Accepts a finite number above `bound`, or equal to it if `inclusive`.
CLI::Validator NumberAbove(double bound, bool inclusive,
                           const std::string& expected);
// Accepts a number in [least, most].
CLI::Validator NumberWithin(double least, double most);
// Accepts "host:port" with a port of 1 to 65535.
CLI::Validator HostAndPort();

// Adds a flag that sets `value`, which is true by default, to false.
void AddOffSwitch(CLI::App& app, const std::string& name, bool& value,
                  const std::string& help);

// Adds an option that leaves `value` empty unless it is given.
template <typename T>
CLI::Option* AddOptional(CLI::App& app, const std::string& name,
                         std::optional<T>& value, const std::string& help) {
  return app.add_option_function<T>(
      name, [&value](const T& given) { value = given; }, help);
}

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_OPTION_CHECKS_H_
