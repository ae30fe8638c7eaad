#ifndef TANGRAM_CLI_ARGS_COMMAND_LINE_H_
#define TANGRAM_CLI_ARGS_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/args/command_tree.h"
#include "cli/args/options.h"

namespace tangram {

// The command that `arguments` (without the program's name) ask for.
// kInvalidArgument names the option, its value and what was expected. Values
// that need a file or a catalogue to judge are left to the command.
absl::StatusOr<Command> ParseCommandLine(std::vector<std::string> arguments);

// All that can be typed.
CommandTree DescribeCommandLine();

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_COMMAND_LINE_H_
