// The commands that cancel, change, delete and wait for jobs.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/print/done_json.h"
#include "cli/print/job_text.h"
#include "cli/remote/job_calls.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

void PrintState(const v1::Job& job, Console& console) {
  if (console.format == OutputFormat::kJson) {
    PrintJobsAsJson({job}, console);
    return;
  }
  console.out << "job " << job.job_id() << ": " << JobStateText(job) << "\n";
}

absl::StatusOr<v1::UpdateJobRequest> UpdateOf(const UpdateJobOptions& options) {
  v1::UpdateJobRequest update;
  v1::Job& job = *update.mutable_job();
  auto& mask = *update.mutable_update_mask();
  job.set_job_id(options.job_id);
  if (options.priority.has_value()) {
    job.set_priority(*options.priority);
    mask.add_paths("priority");
  }
  if (options.clear_labels || !options.labels.empty()) {
    TANGRAM_RETURN_IF_ERROR(SetLabels(options.labels, *job.mutable_labels()));
    mask.add_paths("labels");
  }
  if (options.deadline_s.has_value()) {
    // By the clock of the service: this one may be wrong.
    update.set_timeout_s(*options.deadline_s);
  }
  if (options.keep_days.has_value()) {
    job.set_keep_s(*options.keep_days * kDayOfJobsS);
    mask.add_paths("keep_s");
  }
  if (mask.paths().empty() && !update.has_timeout_s()) {
    return absl::InvalidArgumentError(
        "job update: nothing to change; expected --priority, --label, "
        "--clear-labels, --deadline or --keep-days");
  }
  return update;
}

}  // namespace

CommandResult Run(const CancelJobOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const v1::Job job,
                           CancelJob(options.coordinator, options.job_id,
                                     StopCondition(std::nullopt)));
  PrintState(job, console);
  return ExitCode::kOk;
}

CommandResult Run(const DeleteJobOptions& options, Console& console) {
  for (const std::string& id : options.job_ids) {
    TANGRAM_RETURN_IF_ERROR(DeleteJob(options.coordinator, id,
                                      options.allow_missing,
                                      StopCondition(std::nullopt)));
    if (console.format == OutputFormat::kText) {
      console.out << "deleted job " << id << "\n";
    }
  }
  if (console.format == OutputFormat::kJson) {
    PrintDoneAsJson({.done = "deleted",
                     .what = "job",
                     .count = static_cast<int64_t>(options.job_ids.size()),
                     .names = options.job_ids},
                    console);
  }
  return ExitCode::kOk;
}

CommandResult Run(const RetryJobOptions& options, Console& console) {
  v1::RetryJobRequest request;
  request.set_job_id(options.job_id);
  request.set_timeout_s(options.deadline_s);
  TANGRAM_ASSIGN_OR_RETURN(
      const v1::Job job,
      RetryJob(options.coordinator, request, StopCondition(std::nullopt)));
  PrintState(job, console);
  return ExitCode::kOk;
}

CommandResult Run(const UpdateJobOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const v1::UpdateJobRequest update,
                           UpdateOf(options));
  TANGRAM_ASSIGN_OR_RETURN(
      const v1::Job job,
      UpdateJob(options.coordinator, update, StopCondition(std::nullopt)));
  PrintState(job, console);
  return ExitCode::kOk;
}

CommandResult Run(const WaitJobOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(
      const v1::Job job,
      WaitForJob(options.coordinator, options.job_id, options.timeout_s,
                 StopCondition(std::nullopt)));
  if (job.state() == v1::Job::QUEUED || job.state() == v1::Job::RUNNING) {
    return absl::DeadlineExceededError(
        absl::StrCat("job ", job.job_id(), ": ", JobStateText(job), " after ",
                     options.timeout_s, " s"));
  }
  PrintState(job, console);
  TANGRAM_ASSIGN_OR_RETURN(const PlanFile file, ResultOf(job));
  return file.result.has_plan() ? ExitCode::kOk : ExitCode::kNoPlan;
}

}  // namespace tangram
