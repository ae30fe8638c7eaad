#ifndef TANGRAM_CLI_ARGS_FRAMEWORK_COMMAND_LINE_H_
#define TANGRAM_CLI_ARGS_FRAMEWORK_COMMAND_LINE_H_

#include "CLI/CLI.hpp"
#include "cli/args/options.h"

namespace tangram {

// The options of `export`, and those of `import plan` that no other command
// has.
void AddExport(CLI::App& app, ExportOptions& options);
void AddDiff(CLI::App& app, DiffOptions& options);
void AddImportPlan(CLI::App& app, ImportPlanOptions& options);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_FRAMEWORK_COMMAND_LINE_H_
