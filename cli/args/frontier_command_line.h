#ifndef TANGRAM_CLI_ARGS_FRONTIER_COMMAND_LINE_H_
#define TANGRAM_CLI_ARGS_FRONTIER_COMMAND_LINE_H_

#include "CLI/CLI.hpp"
#include "cli/args/options.h"

namespace tangram {

// Adds the options of `frontier`.
void AddFrontier(CLI::App& app, FrontierOptions& frontier);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_FRONTIER_COMMAND_LINE_H_
