#ifndef TANGRAM_CLI_ARGS_OPTION_CHECKS_H_
#define TANGRAM_CLI_ARGS_OPTION_CHECKS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"

// What many options have in common.
namespace tangram {

// Accepts what `accepts` does; else the message is "<text>; expected
// <expected>".
CLI::Validator Check(std::function<bool(const std::string&)> accepts,
                     const std::string& expected);

CLI::Validator WholeNumber(int64_t at_least, int64_t at_most,
                           const std::string& expected);
CLI::Validator PositiveInteger();
// A finite number above `bound`, or at least it.
CLI::Validator NumberAbove(double bound, bool inclusive,
                           const std::string& expected);
CLI::Validator HostAndPort();

// A flag that switches something off that is on by default.
void AddOffSwitch(CLI::App& app, const std::string& name, bool& value,
                  const std::string& help);

template <typename T>
CLI::Option* AddOptional(CLI::App& app, const std::string& name,
                         std::optional<T>& value, const std::string& help) {
  return app.add_option_function<T>(
      name, [&value](const T& given) { value = given; }, help);
}

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_OPTION_CHECKS_H_
