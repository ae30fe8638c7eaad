#include "cli/run.h"

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "cli/args/command_line.h"
#include "cli/args/constraints.h"
#include "cli/commands/commands.h"
#include "cli/planning/interrupt.h"
#include "common/base/field_error.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace tangram {
namespace {

CommandResult Run(const HelpOptions& options, Console& console) {
  console.out << options.text;
  return ExitCode::kOk;
}

// Removes every "--format text|json" from `arguments` and returns the last one.
// It is read before the command line is parsed, because errors of parsing are
// printed in that format too. Other values of --format belong to a command
// (`job trace --format otlp`) and stay.
OutputFormat TakeFormat(std::vector<std::string>& arguments) {
  OutputFormat format = OutputFormat::kText;
  for (size_t i = 0; i < arguments.size();) {
    const bool is_apart =
        arguments[i] == "--format" && i + 1 < arguments.size();
    const std::string given =
        is_apart ? absl::StrCat("--format=", arguments[i + 1]) : arguments[i];
    if (given != "--format=json" && given != "--format=text") {
      ++i;
      continue;
    }
    format =
        given == "--format=json" ? OutputFormat::kJson : OutputFormat::kText;
    const auto begin = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    arguments.erase(begin, begin + (is_apart ? 2 : 1));
  }
  return format;
}

// Returns the error of a format that no command prints. `job trace` has formats
// of its own, which it checks itself.
absl::Status CheckFormat(const std::vector<std::string>& arguments) {
  constexpr absl::string_view kOption = "--format";
  if (absl::c_linear_search(arguments, "trace")) return absl::OkStatus();
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view given = arguments[i];
    if (!absl::ConsumePrefix(&given, kOption)) continue;
    const bool is_apart = given.empty() && i + 1 < arguments.size();
    if (is_apart) given = arguments[i + 1];
    if (!is_apart && !absl::ConsumePrefix(&given, "=")) continue;
    return FieldError(kOption, given, "text or json");
  }
  return absl::OkStatus();
}

void PrintError(const absl::Status& status, Console& console) {
  if (console.format == OutputFormat::kText) {
    console.err << "tangram: " << EscapedControls(status.message()) << "\n";
    return;
  }
  const nlohmann::ordered_json error = {
      {"code", absl::StatusCodeToString(status.code())},
      {"exit_code", static_cast<int>(ExitCodeOf(status))},
      {"message", status.message()}};
  // Messages may quote bytes of a file that are not UTF-8; these are replaced.
  console.err << nlohmann::ordered_json{{"error", error}}.dump(
                     -1, ' ', /*ensure_ascii=*/false,
                     nlohmann::ordered_json::error_handler_t::replace)
              << "\n";
}

CommandResult RunCommand(std::vector<std::string> arguments, Console& console) {
  TANGRAM_RETURN_IF_ERROR(CheckFormat(arguments));
  TANGRAM_ASSIGN_OR_RETURN(const Command command,
                           ParseCommandLine(std::move(arguments)));
  return std::visit([&](const auto& options) { return Run(options, console); },
                    command);
}

}  // namespace

ExitCode RunTangram(std::vector<std::string> arguments, Console& console) {
  console.format = TakeFormat(arguments);
  CommandResult result = RunCommand(std::move(arguments), console);
  console.out.flush();
  if (result.ok() && !console.out) {
    result = absl::InternalError("standard output cannot be written");
  }
  if (result.ok()) return *result;
  const absl::Status error = NameOption(result.status());
  PrintError(error, console);
  return ExitCodeOf(error);
}

int RunMain(int argc, char** argv) {
  HandleInterrupts();
  Console console = ProcessConsole();
  return static_cast<int>(
      RunTangram(std::vector<std::string>(argv + 1, argv + argc), console));
}

}  // namespace tangram
