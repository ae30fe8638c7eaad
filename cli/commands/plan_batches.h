#ifndef TANGRAM_CLI_COMMANDS_PLAN_BATCHES_H_
#define TANGRAM_CLI_COMMANDS_PLAN_BATCHES_H_

#include "cli/args/options.h"
#include "cli/commands/commands.h"

namespace tangram {

// Carries out `plan` for several global batch sizes: plans each, and compares
// the plans. --output writes each into a file whose name has the size. Options
// that are about one plan are refused, kInvalidArgument.
CommandResult PlanBatches(const PlanOptions& options, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_COMMANDS_PLAN_BATCHES_H_
