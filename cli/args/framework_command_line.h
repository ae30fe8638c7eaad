#ifndef TANGRAM_CLI_ARGS_FRAMEWORK_COMMAND_LINE_H_
#define TANGRAM_CLI_ARGS_FRAMEWORK_COMMAND_LINE_H_

#include "CLI/CLI.hpp"
#include "cli/args/options.h"

namespace tangram {

// Adds the options of `export`.
void AddExport(CLI::App& app, ExportOptions& options);
// Adds the options of `diff`.
void AddDiff(CLI::App& app, DiffOptions& options);
// Adds the options of `import plan` that no other command has.
void AddImportPlan(CLI::App& app, ImportPlanOptions& options);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_FRAMEWORK_COMMAND_LINE_H_
