#include "cli/commands/make_plan.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "cli/args/precision_choice.h"
#include "cli/planning/interrupt.h"
#include "cli/planning/plan_monitor.h"
#include "cli/print/progress_mode.h"
#include "cli/remote/remote_planning.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/parallelizer_list.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "frameworks/framework_table.h"
#include "worker/adapters/process/parallelizer_spec.h"

namespace tangram {
namespace {

// Returns the error of a search that was stopped: kDeadlineExceeded if its time
// has passed, else kCancelled.
absl::Status StopReason(const PlanOptions& options, const StopCondition& stop) {
  if (stop.DeadlinePassed()) {
    return absl::DeadlineExceededError(
        absl::StrCat("--timeout: no plan within ", *options.timeout_s, " s"));
  }
  if (options.job_id.empty()) return absl::CancelledError("interrupted");
  return absl::CancelledError(
      absl::StrCat("interrupted; job ", options.job_id, " goes on"));
}

// Returns which parallelizers plan `request` if none is named: "aceso, the
// default for dense models, with uniform as scout".
std::string DescribeDefault(const PlanRequest& request) {
  const std::string& runtime = request.constraints.runtime;
  const absl::StatusOr<const Framework*> framework =
      FindFramework(PlanningRuntimes(), kRuntimeField, runtime);
  const absl::string_view names = DefaultParallelizers(
      request.model, framework.ok() ? *framework : nullptr);
  absl::string_view purpose = runtime;
  if (runtime.empty()) {
    purpose =
        request.model.has_experts() ? "mixtures of experts" : "dense models";
  }
  const std::string scout = absl::StrContains(names, kScout)
                                ? ""
                                : absl::StrCat(", with ", kScout, " as scout");
  return absl::StrCat(names, ", the default for ", purpose, scout);
}

// Returns what the model has and the layers of the plan do not. Empty: nothing.
std::string UnplannedNote(const PlanRequest& request) {
  const std::vector<std::string>& unplanned = request.model.details.unplanned;
  if (unplanned.empty()) return "";
  return absl::StrCat("not planned of ", request.model.name, ": ",
                      absl::StrJoin(unplanned, "; "));
}

}  // namespace

std::string PrecisionNote(const PlanOptions& options,
                          const PlanRequest& request) {
  if (!options.training.precision.empty()) return "";
  return ChoosePrecision(request.model, options.model.name_or_file,
                         request.cluster)
      .note;
}

absl::StatusOr<PlanFile> MakePlan(const PlanOptions& options,
                                  const PlanRequest& request,
                                  const PlanningSetup& setup, Console& console,
                                  PlanTracer* tracer) {
  if (!setup.coordinator.address.empty() && NamesProgram(setup.parallelizer)) {
    return absl::InvalidArgumentError(
        "--parallelizer: exec: runs a program here; expected the name of an "
        "adapter that the workers of --coordinator offer");
  }
  const StopCondition stop(options.timeout_s);
  ProgressLine line(console.err,
                    ShowsProgress(options.progress, console, options.quiet));
  absl::StatusOr<PlanFile> file =
      setup.coordinator.address.empty()
          ? PlanLocally(request, setup, stop, line, tracer)
          : PlanRemotely(request, setup, stop, line);
  if (!file.ok() && stop.ShouldStop()) return StopReason(options, stop);
  const bool in_preferred =
      file.ok() && request.preferred_precision == file->training.precision;
  if (std::string note = PrecisionNote(options, request);
      file.ok() && !note.empty() && !in_preferred) {
    file->result.notes.push_back(std::move(note));
  }
  if (std::string note = UnplannedNote(request); file.ok() && !note.empty()) {
    file->result.notes.push_back(std::move(note));
  }
  if (file.ok() && options.parallelizer.empty() &&
      request.constraints.runtime != kAutoRuntime) {
    file->result.notes.push_back(
        absl::StrCat("parallelizer: ", DescribeDefault(request)));
  }
  return file;
}

}  // namespace tangram
