#ifndef TANGRAM_CLI_COMMANDS_COMMANDS_H_
#define TANGRAM_CLI_COMMANDS_COMMANDS_H_

#include "absl/status/statusor.h"
#include "cli/args/exit_code.h"
#include "cli/args/options.h"
#include "cli/print/console.h"

// The subcommands, each in its <name>_command.cc. Run prints the answer to
// console.out and returns the exit code. It returns errors and does not print
// them. "No plan fits" is an answer, kNoPlan, and no error.
namespace tangram {

using CommandResult = absl::StatusOr<ExitCode>;

CommandResult Run(const PlanOptions& options, Console& console);
CommandResult Run(const CompareOptions& options, Console& console);
CommandResult Run(const FrontierOptions& options, Console& console);
CommandResult Run(const IslandsOptions& options, Console& console);
CommandResult Run(const EvaluateOptions& options, Console& console);
CommandResult Run(const ExplainOptions& options, Console& console);
CommandResult Run(const DiffOptions& options, Console& console);
CommandResult Run(const ReportOptions& options, Console& console);
CommandResult Run(const ImportClusterOptions& options, Console& console);
CommandResult Run(const ImportModelOptions& options, Console& console);
CommandResult Run(const RunOptions& options, Console& console);
CommandResult Run(const ExportOptions& options, Console& console);
CommandResult Run(const ImportPlanOptions& options, Console& console);
CommandResult Run(const ImportProfileOptions& options, Console& console);
CommandResult Run(const ShowProfileOptions& options, Console& console);
CommandResult Run(const ExportProfileOptions& options, Console& console);
CommandResult Run(const ValidateOptions& options, Console& console);
CommandResult Run(const ModelsOptions& options, Console& console);
CommandResult Run(const DevicesOptions& options, Console& console);
CommandResult Run(const ParallelizersOptions& options, Console& console);
CommandResult Run(const PlannersOptions& options, Console& console);
CommandResult Run(const HealthOptions& options, Console& console);
CommandResult Run(const ListJobsOptions& options, Console& console);
CommandResult Run(const ShowJobOptions& options, Console& console);
CommandResult Run(const WatchJobOptions& options, Console& console);
CommandResult Run(const TraceJobOptions& options, Console& console);
CommandResult Run(const ListWorkersOptions& options, Console& console);
CommandResult Run(const ReleaseWorkerOptions& options, Console& console);
CommandResult Run(const TopOptions& options, Console& console);
CommandResult Run(const CancelJobOptions& options, Console& console);
CommandResult Run(const DeleteJobOptions& options, Console& console);
CommandResult Run(const RetryJobOptions& options, Console& console);
CommandResult Run(const UpdateJobOptions& options, Console& console);
CommandResult Run(const WaitJobOptions& options, Console& console);
CommandResult Run(const TenantUsageOptions& options, Console& console);
CommandResult Run(const ExportTenantOptions& options, Console& console);
CommandResult Run(const EraseTenantOptions& options, Console& console);
CommandResult Run(const CompletionOptions& options, Console& console);
CommandResult Run(const CompleteOptions& options, Console& console);
CommandResult Run(const ManualOptions& options, Console& console);
CommandResult Run(const VersionOptions& options, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_COMMANDS_COMMANDS_H_
