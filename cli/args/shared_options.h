#ifndef TANGRAM_CLI_ARGS_SHARED_OPTIONS_H_
#define TANGRAM_CLI_ARGS_SHARED_OPTIONS_H_

#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "cli/args/options.h"

namespace tangram {

// Options that several commands have. The values are read into the last
// argument, which must outlive `app`.

// Returns the text below the options: JSON errors and exit codes.
std::string HelpFooter();
void AddCluster(CLI::App& app, ClusterChoice& cluster, bool required);
// Adds --memory-margin.
void AddMemoryMargin(CLI::App& app, std::optional<double>& margin);
// Adds --profile and --constants.
void AddProfiles(CLI::App& app, ClusterChoice& cluster);
void AddModel(CLI::App& app, ModelChoice& model, bool required);
void AddTraining(CLI::App& app, TrainingChoice& training, bool required);
void AddTolerances(CLI::App& app, IslandTolerances& tolerances);
// Adds --threads and --effort.
void AddEffort(CLI::App& app, PlanOptions& plan);
// Adds --output for the plan file.
void AddOutput(CLI::App& app, std::string& file);
void AddProgress(CLI::App& app, ProgressMode& progress);
// Adds what is asked about an answer: --tokens, --prices, --brief, --verbose.
void AddAnswer(CLI::App& app, AnswerChoice& answer);
void AddTraceFormat(CLI::App& app, const std::string& name,
                    TraceFormat& format);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_SHARED_OPTIONS_H_
