#ifndef TANGRAM_CLI_ARGS_MEASUREMENT_COMMAND_LINE_H_
#define TANGRAM_CLI_ARGS_MEASUREMENT_COMMAND_LINE_H_

#include "CLI/CLI.hpp"
#include "cli/args/options.h"

namespace tangram {

// Adds the options of `profile export`.
void AddExportProfile(CLI::App& app, ExportProfileOptions& options);
// Adds the options of `validate`.
void AddValidate(CLI::App& app, ValidateOptions& validate);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_MEASUREMENT_COMMAND_LINE_H_
