#ifndef TANGRAM_CLI_ARGS_IMPORT_COMMAND_LINE_H_
#define TANGRAM_CLI_ARGS_IMPORT_COMMAND_LINE_H_

#include "CLI/CLI.hpp"
#include "cli/args/options.h"

namespace tangram {

// Adds the options of `import cluster`.
void AddImportCluster(CLI::App& app, ImportClusterOptions& options);
// Adds the options of `import model`.
void AddImportModel(CLI::App& app, ImportModelOptions& options);
// Adds the options of `import profile`.
void AddImportProfile(CLI::App& app, ImportProfileOptions& options);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_IMPORT_COMMAND_LINE_H_
