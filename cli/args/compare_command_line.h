#ifndef TANGRAM_CLI_ARGS_COMPARE_COMMAND_LINE_H_
#define TANGRAM_CLI_ARGS_COMPARE_COMMAND_LINE_H_

#include "CLI/CLI.hpp"
#include "cli/args/options.h"

namespace tangram {

// Adds the options of `compare`.
void AddCompare(CLI::App& app, CompareOptions& compare);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_COMPARE_COMMAND_LINE_H_
