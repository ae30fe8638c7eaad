#ifndef TANGRAM_CLI_ARGS_FRONTIER_COMMAND_LINE_H_
#define TANGRAM_CLI_ARGS_FRONTIER_COMMAND_LINE_H_

#include "CLI/CLI.hpp"
#include "cli/args/options.h"

namespace tangram {

// Adds the options of `frontier`.
void AddFrontier(CLI::App& app, FrontierOptions& frontier);
// Adds the options of `move`.
void AddMove(CLI::App& app, MoveOptions& move);
// Adds the options of `advise`.
void AddAdvise(CLI::App& app, AdviseOptions& advise);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_FRONTIER_COMMAND_LINE_H_
