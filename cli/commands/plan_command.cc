#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/args/precision_choice.h"
#include "cli/args/prices.h"
#include "cli/args/request.h"
#include "cli/commands/answer.h"
#include "cli/commands/commands.h"
#include "cli/files/plan_files.h"
#include "cli/files/trace_file.h"
#include "cli/planning/interrupt.h"
#include "cli/planning/local_planning.h"
#include "cli/planning/plan_monitor.h"
#include "cli/print/print_plan.h"
#include "cli/print/progress_mode.h"
#include "cli/print/table.h"
#include "cli/remote/job_calls.h"
#include "cli/remote/node_loss.h"
#include "cli/remote/remote_planning.h"
#include "common/base/status_macros.h"
#include "common/obs/clocks.h"
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
        HasExperts(request.model) ? "mixtures of experts" : "dense models";
  }
  const std::string scout = absl::StrContains(names, kScout)
                                ? ""
                                : absl::StrCat(", with ", kScout, " as scout");
  return absl::StrCat(names, ", the default for ", purpose, scout);
}

// Returns why the precision is not that of the model's weights. Empty: it is,
// or somebody chose it.
std::string PrecisionNote(const PlanOptions& options,
                          const PlanRequest& request) {
  if (!options.training.precision.empty()) return "";
  return ChoosePrecision(request.model, options.model.name_or_file,
                         request.cluster)
      .note;
}

// Returns what the model has and the layers of the plan do not. Empty: nothing.
std::string UnplannedNote(const PlanRequest& request) {
  const std::vector<std::string>& unplanned = request.model.details.unplanned;
  if (unplanned.empty()) return "";
  return absl::StrCat("not planned of ", request.model.name, ": ",
                      absl::StrJoin(unplanned, "; "));
}

// Returns a tracer for planning in this process.
std::unique_ptr<PlanTracer> MakeTracer() {
  return std::make_unique<PlanTracer>(
      PlanTracerOptions{.name = "tangram plan",
                        .now_s = SteadySeconds,
                        .began_unix_ns = UnixNanos()});
}

absl::Status CheckTrace(const PlanOptions& options) {
  if (options.trace_file.empty()) return absl::OkStatus();
  if (options.detach) {
    return absl::InvalidArgumentError(
        "--trace: given with --detach; expected tangram job trace once the job "
        "has ended");
  }
  if (!options.coordinator.address.empty() && options.job_id.empty()) {
    return absl::InvalidArgumentError(
        "--trace: given without --job; expected --job with --coordinator, "
        "which traces only jobs");
  }
  return CheckTraceOutput(options.trace_file);
}

// Plans in this process or on a coordinator. Notes in the answer say what was
// chosen for the caller, the parallelizers and the precision, and what the
// model's layers lack.
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
  if (std::string note = PrecisionNote(options, request);
      file.ok() && !note.empty()) {
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

// Submits the jobs of --prepare-node-loss and prints their names.
absl::Status Prepare(const PlanOptions& options,
                     absl::Span<const ReducedRequest> spares,
                     const PlanningSetup& setup, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<std::string> names,
      PrepareForNodeLoss(spares, setup, StopCondition(options.timeout_s)));
  if (options.quiet || IsStandardOutput(options.output_file)) {
    return absl::OkStatus();
  }
  for (const std::string& name : names) {
    console.out << "submitted job " << name << "\n";
  }
  return absl::OkStatus();
}

// Carries out --detach: submits the job and does not wait for it.
CommandResult Submit(const PlanOptions& options, const PlanRequest& request,
                     absl::Span<const ReducedRequest> spares,
                     const PlanningSetup& setup, Console& console) {
  TANGRAM_RETURN_IF_ERROR(
      SubmitPlanJob(request, setup, StopCondition(options.timeout_s)).status());
  console.out << "submitted job " << options.job_id << "\n";
  TANGRAM_RETURN_IF_ERROR(Prepare(options, spares, setup, console));
  return ExitCode::kOk;
}

CommandResult WriteRequest(const PlanOptions& options,
                           const PlanRequest& request,
                           const PlanningSetup& setup, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(std::string json, PlanRequestToJson(request, setup));
  if (IsStandardOutput(options.request_file)) {
    console.out << json;
    return ExitCode::kOk;
  }
  OutputFiles files;
  files.Add(options.request_file, std::move(json));
  TANGRAM_RETURN_IF_ERROR(files.Write());
  return ExitCode::kOk;
}

// Writes the trace of this process, or that of the job on the coordinator.
absl::Status WritePlanTrace(const PlanOptions& options,
                            const PlanTracer& tracer, Console& console) {
  if (options.coordinator.address.empty()) {
    return WriteTrace(tracer.ToTrace(), options.trace_format,
                      options.trace_file, console.out);
  }
  TANGRAM_ASSIGN_OR_RETURN(const Trace trace,
                           GetJobTrace(options.coordinator, options.job_id,
                                       StopCondition(std::nullopt)));
  return WriteTrace(trace, options.trace_format, options.trace_file,
                    console.out);
}

absl::Status CheckPlanOutputs(const PlanOptions& options,
                              const PlanOutputs& outputs) {
  TANGRAM_RETURN_IF_ERROR(CheckOutputs(outputs));
  TANGRAM_RETURN_IF_ERROR(CheckTrace(options));
  if (options.request_file.empty() || IsStandardOutput(options.request_file)) {
    return absl::OkStatus();
  }
  return CheckWritable(options.request_file);
}

// Carries out --dry-run: prints what planning costs at most.
CommandResult PrintCost(const PlanRequest& request, const PlanningSetup& setup,
                        Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string cost,
                           DescribeCost(request, setup));
  console.out << cost << "\n";
  return ExitCode::kOk;
}

// Returns the jobs of --prepare-node-loss, none without it.
absl::StatusOr<std::vector<ReducedRequest>> SparesOf(
    const PlanOptions& options, const PlanRequest& request) {
  if (!options.prepare_node_loss) return std::vector<ReducedRequest>();
  return WithoutANode(request);
}

absl::Status PrintPlanned(const PlanOptions& options, const PlanFile& file,
                          Console& console) {
  if (options.quiet || IsStandardOutput(options.output_file)) {
    return absl::OkStatus();
  }
  TANGRAM_RETURN_IF_ERROR(
      PrintAnswerOf(file, options.answer, options.output_file, console));
  if (options.answer.detail == Detail::kAll) {
    console.out << "\n";
    PrintPlanningCost(file, console);
  }
  return absl::OkStatus();
}

// Plans, and writes and prints the answer.
CommandResult Plan(const PlanOptions& options, const PlanOutputs& outputs,
                   const PlanRequest& request, const PlanningSetup& setup,
                   Console& console) {
  const bool has_trace = !options.trace_file.empty();
  const std::unique_ptr<PlanTracer> tracer = has_trace ? MakeTracer() : nullptr;
  TANGRAM_ASSIGN_OR_RETURN(
      PlanFile file, MakePlan(options, request, setup, console, tracer.get()));

  PlanTimelines timelines;
  if (file.result.has_plan()) {
    TANGRAM_RETURN_IF_ERROR(
        EvaluatePlanFile("plan", file, &timelines, Interrupted));
  }
  if (Interrupted()) return absl::CancelledError("interrupted");
  if (has_trace) {
    TANGRAM_RETURN_IF_ERROR(WritePlanTrace(options, *tracer, console));
  }
  TANGRAM_RETURN_IF_ERROR(WriteOutputs(outputs, file, timelines, console.out));
  TANGRAM_RETURN_IF_ERROR(PrintPlanned(options, file, console));
  return file.result.has_plan() ? ExitCode::kOk : ExitCode::kNoPlan;
}

}  // namespace

CommandResult Run(const PlanOptions& options, Console& console) {
  const PlanOutputs outputs{.plan_file = options.output_file,
                            .timeline_file = options.timeline_file};
  TANGRAM_RETURN_IF_ERROR(CheckPlanOutputs(options, outputs));
  TANGRAM_ASSIGN_OR_RETURN(const PlanRequest request, MakePlanRequest(options));
  if (!options.answer.prices.empty()) {
    TANGRAM_RETURN_IF_ERROR(
        ParsePrices(options.answer.prices, request.cluster->groups).status());
  }
  TANGRAM_ASSIGN_OR_RETURN(const PlanningSetup setup, PlanningSetupOf(options));
  if (!options.request_file.empty() || options.detach) {
    // There will be no answer to hold the note.
    console.err << WrapText(PrecisionNote(options, request), /*indent=*/0,
                            console.width);
  }
  if (!options.request_file.empty()) {
    return WriteRequest(options, request, setup, console);
  }
  if (options.dry_run) return PrintCost(request, setup, console);
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ReducedRequest> spares,
                           SparesOf(options, request));
  if (options.detach) return Submit(options, request, spares, setup, console);
  TANGRAM_ASSIGN_OR_RETURN(const ExitCode code,
                           Plan(options, outputs, request, setup, console));
  TANGRAM_RETURN_IF_ERROR(Prepare(options, spares, setup, console));
  return code;
}

}  // namespace tangram
