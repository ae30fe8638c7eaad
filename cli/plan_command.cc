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
#include "cli/remote_planning.h"
#include "cli/request.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

bool ShowsProgress(const PlanOptions& options, const Console& console) {
  switch (options.progress) {
    case ProgressMode::kAlways:
      return true;
    case ProgressMode::kNever:
      return false;
    case ProgressMode::kAuto:
      return console.err_is_terminal && !options.quiet;
  }
  return false;
}

// Whoever stopped the search, this is why it was stopped.
absl::Status StopReason(const PlanOptions& options, const StopCondition& stop) {
  if (stop.DeadlinePassed()) {
    return absl::DeadlineExceededError(
        absl::StrCat("--timeout: no plan within ", *options.timeout_s, " s"));
  }
  return absl::CancelledError("interrupted");
}

absl::StatusOr<PlanFile> MakePlan(const PlanOptions& options,
                                  const PlanRequest& request,
                                  Console& console) {
  const PlanningSetup setup{
      .parallelizer = options.parallelizer.empty()
                          ? DefaultParallelizer(request.model)
                          : options.parallelizer,
      .search = options.search,
      .num_threads = options.num_threads,
      .coordinator = options.coordinator};
  const StopCondition stop(options.timeout_s);
  ProgressLine line(console.err, ShowsProgress(options, console));
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

}  // namespace

CommandResult Run(const PlanOptions& options, Console& console) {
  const PlanOutputs outputs{.plan_file = options.output_file,
                            .timeline_file = options.timeline_file};
  TANGRAM_RETURN_IF_ERROR(CheckOutputs(outputs));
  TANGRAM_ASSIGN_OR_RETURN(const PlanRequest request, MakePlanRequest(options));
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
