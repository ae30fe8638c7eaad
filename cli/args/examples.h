#ifndef TANGRAM_CLI_ARGS_EXAMPLES_H_
#define TANGRAM_CLI_ARGS_EXAMPLES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace CLI {
class App;
}

namespace tangram {

// Returns command lines that show how to use a command, "plan" or "job list",
// each on a line of its own; longer ones go on after a backslash. Empty: none
// are known.
absl::string_view ExamplesOf(absl::string_view command);

// Puts examples and exit codes below the help of `app` and of all its
// subcommands.
void AddExamples(CLI::App& app);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_EXAMPLES_H_
