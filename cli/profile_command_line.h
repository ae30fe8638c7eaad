#ifndef TANGRAM_CLI_PROFILE_COMMAND_LINE_H_
#define TANGRAM_CLI_PROFILE_COMMAND_LINE_H_

#include "CLI/CLI.hpp"
#include "cli/options.h"

namespace tangram {

// The options of `profile import` and `profile show`.
void AddImportProfile(CLI::App& app, ImportProfileOptions& options);
void AddShowProfile(CLI::App& app, ShowProfileOptions& options);

}  // namespace tangram

#endif  // TANGRAM_CLI_PROFILE_COMMAND_LINE_H_
