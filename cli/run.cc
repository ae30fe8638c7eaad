#include "cli/run.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

CommandResult Run(const HelpOptions& options, Console& console) {
  console.out << options.text;
  return ExitCode::kOk;
}

CommandResult RunCommand(std::vector<std::string> arguments, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const Command command,
                           ParseCommandLine(std::move(arguments)));
  return std::visit([&](const auto& options) { return Run(options, console); },
                    command);
}

}  // namespace

ExitCode RunTangram(std::vector<std::string> arguments, Console& console) {
  const CommandResult result = RunCommand(std::move(arguments), console);
  console.out.flush();
  if (!result.ok()) {
    console.err << "tangram: " << result.status().message() << "\n";
    return ExitCodeOf(result.status());
  }
  if (!console.out) {
    console.err << "tangram: standard output cannot be written\n";
    return ExitCode::kInternal;
  }
  return *result;
}

int RunMain(int argc, char** argv) {
  HandleInterrupts();
  Console console = ProcessConsole();
  return static_cast<int>(
      RunTangram(std::vector<std::string>(argv + 1, argv + argc), console));
}

}  // namespace tangram
