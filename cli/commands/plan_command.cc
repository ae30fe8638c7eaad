#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "cli/args/prices.h"
#include "cli/args/request.h"
#include "cli/commands/answer.h"
#include "cli/commands/commands.h"
#include "cli/commands/make_plan.h"
#include "cli/commands/plan_batches.h"
#include "cli/files/plan_files.h"
#include "cli/files/trace_file.h"
#include "cli/planning/interrupt.h"
#include "cli/planning/local_planning.h"
#include "cli/print/answer_json.h"
#include "cli/print/done_json.h"
#include "cli/print/print_plan.h"
#include "cli/print/table.h"
#include "cli/remote/job_calls.h"
#include "cli/remote/node_loss.h"
#include "cli/remote/remote_planning.h"
#include "common/base/status_macros.h"
#include "common/obs/clocks.h"
#include "coordinator/planners/tangram/estimate_cost.h"

namespace tangram {
namespace {

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

void PrintSubmitted(const std::vector<std::string>& names, Console& console) {
  if (console.format == OutputFormat::kJson) {
    PrintDoneAsJson({.done = "submitted",
                     .what = "job",
                     .count = static_cast<int64_t>(names.size()),
                     .names = names},
                    console);
    return;
  }
  for (const std::string& name : names) {
    console.out << "submitted job " << name << "\n";
  }
}

// Carries out --detach: submits the job and does not wait for it.
CommandResult Submit(const PlanOptions& options, const PlanRequest& request,
                     absl::Span<const ReducedRequest> spares,
                     const PlanningSetup& setup, Console& console) {
  TANGRAM_RETURN_IF_ERROR(
      SubmitPlanJob(request, setup, StopCondition(options.timeout_s)).status());
  std::vector<std::string> names = {options.job_id};
  const absl::StatusOr<std::vector<std::string>> prepared =
      PrepareForNodeLoss(spares, setup, StopCondition(options.timeout_s));
  if (prepared.ok()) {
    names.insert(names.end(), prepared->begin(), prepared->end());
  }
  PrintSubmitted(names, console);
  TANGRAM_RETURN_IF_ERROR(prepared.status());
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
  TANGRAM_ASSIGN_OR_RETURN(const PlanCost cost,
                           EstimateCost(request, setup.search));
  if (console.format == OutputFormat::kText) {
    console.out << Describe(cost) << "\n";
    return ExitCode::kOk;
  }
  PrintJson({{"format_version", "tangram.cost/v1"},
             {"layers", cost.num_layers},
             {"atoms", cost.num_atoms},
             {"slices", cost.num_slices},
             {"islands", cost.num_islands},
             {"microbatch_sizes", cost.num_microbatch_sizes},
             {"pairs", cost.num_pairs},
             {"evaluations", cost.num_evaluations},
             {"bytes", cost.bytes}},
            console);
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
  if (options.answer.detail == Detail::kAll &&
      console.format == OutputFormat::kText) {
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
  if (options.global_batch_sizes.size() > 1) {
    return PlanBatches(options, console);
  }
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
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<std::string> names,
      PrepareForNodeLoss(spares, setup, StopCondition(options.timeout_s)));
  // The one JSON answer is that of the plan.
  if (!options.quiet && !IsStandardOutput(options.output_file) &&
      console.format == OutputFormat::kText) {
    PrintSubmitted(names, console);
  }
  return code;
}

}  // namespace tangram
