#ifndef TANGRAM_CLI_ARGS_COORDINATOR_OPTIONS_H_
#define TANGRAM_CLI_ARGS_COORDINATOR_OPTIONS_H_

#include <string>

#include "cli/args/options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace tangram {

// Adds --coordinator and the options for TLS and tokens.
void AddCoordinator(CLI::App& app, CoordinatorAccess& coordinator,
                    bool required = true,
                    const std::string& help = "Ask this coordinator");

// Adds the options of AddCoordinator and the name of a job.
void AddJob(CLI::App& app, CoordinatorAccess& coordinator, std::string& job_id);

// Adds the options of AddCoordinator and the name of a worker.
void AddWorker(CLI::App& app, CoordinatorAccess& coordinator,
               std::string& name);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_COORDINATOR_OPTIONS_H_
