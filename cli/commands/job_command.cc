#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands/answer.h"
#include "cli/commands/commands.h"
#include "cli/files/plan_files.h"
#include "cli/files/trace_file.h"
#include "cli/print/done_json.h"
#include "cli/print/job_text.h"
#include "cli/print/print_plan.h"
#include "cli/print/progress_mode.h"
#include "cli/print/table.h"
#include "cli/remote/job_calls.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

void PrintJobs(const std::vector<v1::Job>& jobs, Console& console) {
  if (console.format == OutputFormat::kJson) {
    PrintJobsAsJson(jobs, console);
    return;
  }
  Table table({{"job"},
               {"state"},
               {"priority", Table::kRight},
               {"submitted"},
               {"took", Table::kRight},
               {"attempts", Table::kRight},
               {"labels"},
               {"error"}});
  for (const v1::Job& job : jobs) {
    table.AddRow({job.job_id(), JobStateText(job),
                  job.priority() == 0 ? "" : absl::StrCat(job.priority()),
                  JobTimeText(job), JobTookText(job),
                  job.attempts() < 2 ? "" : absl::StrCat(job.attempts()),
                  JobLabelsText(job), JobTroubleText(job)});
  }
  console.out << table.ToString();
}

// Prints and writes the plan of a job that has succeeded.
CommandResult PrintResult(const v1::Job& job, const std::string& output_file,
                          Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const PlanFile file, ResultOf(job));
  TANGRAM_RETURN_IF_ERROR(
      WriteOutputs({.plan_file = output_file}, file, {}, console.out));
  if (!IsStandardOutput(output_file)) {
    TANGRAM_RETURN_IF_ERROR(
        PrintAnswerOf(file, AnswerChoice(), output_file, console));
  }
  return file.result.has_plan() ? ExitCode::kOk : ExitCode::kNoPlan;
}

}  // namespace

CommandResult Run(const ListJobsOptions& options, Console& console) {
  v1::ListJobsRequest request;
  request.set_filter(options.filter);
  request.set_order_by(options.order_by);
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<v1::Job> jobs,
      ListJobs(options.coordinator, std::move(request), options.limit,
               StopCondition(std::nullopt)));
  PrintJobs(jobs, console);
  return ExitCode::kOk;
}

CommandResult Run(const ShowJobOptions& options, Console& console) {
  TANGRAM_RETURN_IF_ERROR(CheckOutputs({.plan_file = options.output_file}));
  TANGRAM_ASSIGN_OR_RETURN(
      const v1::Job job,
      GetJob(options.coordinator, options.job_id, StopCondition(std::nullopt)));
  const bool has_answer = job.state() == v1::Job::SUCCEEDED;
  // One JSON answer: that of the job if it has one.
  if (!IsStandardOutput(options.output_file) &&
      !(has_answer && console.format == OutputFormat::kJson)) {
    PrintJobs({job}, console);
    if (console.format == OutputFormat::kText) console.out << "\n";
  }
  if (job.state() != v1::Job::SUCCEEDED) return ExitCode::kOk;
  return PrintResult(job, options.output_file, console);
}

CommandResult Run(const WatchJobOptions& options, Console& console) {
  TANGRAM_RETURN_IF_ERROR(CheckOutputs({.plan_file = options.output_file}));
  const StopCondition stop(std::nullopt);
  ProgressLine line(console.err, ShowsProgress(options.progress, console));
  const absl::StatusOr<v1::Job> job =
      AwaitJob(options.coordinator, options.job_id, stop, line);
  if (stop.ShouldStop()) {
    return absl::CancelledError(
        absl::StrCat("interrupted; job ", options.job_id, " goes on"));
  }
  TANGRAM_RETURN_IF_ERROR(job.status());
  return PrintResult(*job, options.output_file, console);
}

CommandResult Run(const TraceJobOptions& options, Console& console) {
  TANGRAM_RETURN_IF_ERROR(CheckTraceOutput(options.output_file));
  TANGRAM_ASSIGN_OR_RETURN(const Trace trace,
                           GetJobTrace(options.coordinator, options.job_id,
                                       StopCondition(std::nullopt)));
  TANGRAM_RETURN_IF_ERROR(
      WriteTrace(trace, options.format, options.output_file, console.out));
  return ExitCode::kOk;
}

}  // namespace tangram
