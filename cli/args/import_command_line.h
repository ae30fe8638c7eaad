#ifndef TANGRAM_CLI_ARGS_IMPORT_COMMAND_LINE_H_
#define TANGRAM_CLI_ARGS_IMPORT_COMMAND_LINE_H_

#include "CLI/CLI.hpp"
#include "cli/args/options.h"

namespace tangram {

// The options of the `import` commands.
void AddImportCluster(CLI::App& app, ImportClusterOptions& options);
void AddImportModel(CLI::App& app, ImportModelOptions& options);
void AddImportProfile(CLI::App& app, ImportProfileOptions& options);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_IMPORT_COMMAND_LINE_H_
