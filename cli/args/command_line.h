#ifndef TANGRAM_CLI_ARGS_COMMAND_LINE_H_
#define TANGRAM_CLI_ARGS_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/args/command_tree.h"
#include "cli/args/options.h"

namespace tangram {

// Returns the command in `arguments`, which do not include the program's name.
// kInvalidArgument names the option, its value and what was expected. The
// command itself checks values that need a file or a catalogue.
absl::StatusOr<Command> ParseCommandLine(std::vector<std::string> arguments);

// Returns all commands and options with their help.
CommandTree DescribeCommandLine();

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_COMMAND_LINE_H_
