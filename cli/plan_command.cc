#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/local_planning.h"
#include "cli/plan_files.h"
#include "cli/plan_monitor.h"
#include "cli/print_plan.h"
#include "cli/progress_mode.h"
#include "cli/remote_planning.h"
#include "cli/request.h"
#include "common/base/status_macros.h"
#include "worker/adapters/process/parallelizer_spec.h"

namespace tangram {
namespace {

// Whoever stopped the search, this is why it was stopped.
absl::Status StopReason(const PlanOptions& options, const StopCondition& stop) {
  if (stop.DeadlinePassed()) {
    return absl::DeadlineExceededError(
        absl::StrCat("--timeout: no plan within ", *options.timeout_s, " s"));
  }
  if (options.job_id.empty()) return absl::CancelledError("interrupted");
  return absl::CancelledError(
      absl::StrCat("interrupted; job ", options.job_id, " goes on"));
}

PlanningSetup SetupOf(const PlanOptions& options, const ModelSpec& model) {
  return {.parallelizer = options.parallelizer.empty()
                              ? DefaultParallelizer(model)
                              : options.parallelizer,
          .search = options.search,
          .num_threads = options.num_threads,
          .coordinator = options.coordinator,
          .job_id = options.job_id,
          .priority = options.priority};
}

absl::StatusOr<PlanFile> MakePlan(const PlanOptions& options,
                                  const PlanRequest& request,
                                  Console& console) {
  const PlanningSetup setup = SetupOf(options, request.model);
  if (!setup.coordinator.empty() && NamesProgram(setup.parallelizer)) {
    return absl::InvalidArgumentError(
        "--parallelizer: exec: runs a program here; with --coordinator give "
        "the name of the adapter that its workers offer");
  }
  const StopCondition stop(options.timeout_s);
  ProgressLine line(console.err,
                    ShowsProgress(options.progress, console, options.quiet));
  absl::StatusOr<PlanFile> file =
      setup.coordinator.empty() ? PlanLocally(request, setup, stop, line)
                                : PlanRemotely(request, setup, stop, line);
  if (!file.ok() && stop.ShouldStop()) return StopReason(options, stop);
  if (file.ok() && options.parallelizer.empty()) {
    file->result.notes.push_back(absl::StrCat(
        "parallelizer: ", setup.parallelizer, ", the default for ",
        HasExperts(request.model) ? "mixtures of experts" : "dense models"));
  }
  return file;
}

CommandResult Submit(const PlanOptions& options, const PlanRequest& request,
                     Console& console) {
  TANGRAM_RETURN_IF_ERROR(SubmitPlanJob(request,
                                        SetupOf(options, request.model),
                                        StopCondition(options.timeout_s))
                              .status());
  console.out << "submitted job " << options.job_id << "\n";
  return ExitCode::kOk;
}

}  // namespace

CommandResult Run(const PlanOptions& options, Console& console) {
  const PlanOutputs outputs{.plan_file = options.output_file,
                            .timeline_file = options.timeline_file};
  TANGRAM_RETURN_IF_ERROR(CheckOutputs(outputs));
  TANGRAM_ASSIGN_OR_RETURN(const PlanRequest request, MakePlanRequest(options));
  if (options.detach) return Submit(options, request, console);
  TANGRAM_ASSIGN_OR_RETURN(PlanFile file, MakePlan(options, request, console));

  std::vector<TimelineEvent> timeline;
  if (file.result.plan) {
    TANGRAM_RETURN_IF_ERROR(EvaluatePlanFile("plan", file, &timeline));
  }
  if (Interrupted()) return absl::CancelledError("interrupted");
  TANGRAM_RETURN_IF_ERROR(WriteOutputs(outputs, file, timeline, console.out));
  if (!options.quiet && !IsStandardOutput(options.output_file)) {
    PrintPlanFile(file, console);
    if (options.verbose) {
      console.out << "\n";
      PrintPlanningCost(file, console);
    }
  }
  return file.result.plan ? ExitCode::kOk : ExitCode::kNoPlan;
}

}  // namespace tangram
