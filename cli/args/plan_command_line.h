#ifndef TANGRAM_CLI_ARGS_PLAN_COMMAND_LINE_H_
#define TANGRAM_CLI_ARGS_PLAN_COMMAND_LINE_H_

#include "CLI/CLI.hpp"
#include "cli/args/options.h"

namespace tangram {

// Adds the options of a request, its constraints, the search by one planner and
// the coordinator.
void AddPlanning(CLI::App& app, PlanOptions& plan);

// Adds the options of `plan`.
void AddPlan(CLI::App& app, PlanOptions& plan);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_PLAN_COMMAND_LINE_H_
