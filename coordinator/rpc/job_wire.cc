#include "coordinator/rpc/job_wire.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/wire/field_checks.h"
#include "coordinator/planning/plan_request_wire.h"
#include "coordinator/rpc/job_names.h"
#include "tangram/v1/job_service.pb.h"

namespace tangram {
namespace {

// Limit, because ids are keys of the database and appear in tables.
constexpr size_t kMaxIdLength = 128;
// Limit, because results are read from the database for each job of a page.
constexpr int kMaxPageSize = 100;

bool IsIdCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
}

v1::Job::State ToProto(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return v1::Job::QUEUED;
    case JobState::kRunning:
      return v1::Job::RUNNING;
    case JobState::kSucceeded:
      return v1::Job::SUCCEEDED;
    case JobState::kFailed:
      return v1::Job::FAILED;
    case JobState::kCancelled:
      return v1::Job::CANCELLED;
  }
  return v1::Job::UNKNOWN;
}

absl::StatusOr<JobState> FromProto(int state) {
  for (const JobState known :
       {JobState::kQueued, JobState::kRunning, JobState::kSucceeded,
        JobState::kFailed, JobState::kCancelled}) {
    if (ToProto(known) == state) return known;
  }
  return FieldError("states", state, "states of jobs");
}

void SetError(const absl::Status& error, v1::Job& message) {
  message.mutable_error()->set_code(static_cast<int>(error.code()));
  message.mutable_error()->set_message(std::string(error.message()));
}

// A stored result that is no plan is damaged, which fails the job. Clients
// cannot read such a message either, and would ask for ever.
void SetResult(const std::string& result, v1::Job& message) {
  if (result.empty() || message.mutable_result()->ParseFromString(result)) {
    return;
  }
  message.clear_result();
  message.set_state(v1::Job::FAILED);
  SetError(absl::DataLossError(absl::StrCat("job ", message.job_id(),
                                            ": its stored plan is damaged; "
                                            "submit the job again")),
           message);
}

}  // namespace

absl::Status CheckJobId(absl::string_view id) {
  const bool is_good = !id.empty() && id.size() <= kMaxIdLength &&
                       std::all_of(id.begin(), id.end(), IsIdCharacter);
  if (is_good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "job_id: \"", id.substr(0, kMaxIdLength), "\"; expected 1 to ",
      kMaxIdLength, " letters, digits, dots, underscores and hyphens"));
}

absl::StatusOr<Job> FromProto(const v1::SubmitJobRequest& message) {
  TANGRAM_RETURN_IF_ERROR(CheckJobId(message.job_id()));
  TANGRAM_RETURN_IF_ERROR(
      InField("request", FromProto(message.request())).status());
  return Job{.id = message.job_id(),
             .request = message.request().SerializeAsString(),
             .priority = message.priority()};
}

absl::StatusOr<JobFilter> FromProto(const v1::ListJobsRequest& message) {
  TANGRAM_RETURN_IF_ERROR(
      CheckNotNegative("page_size", message.page_size(), kMaxPageSize));
  JobFilter filter{.before_id = message.page_token()};
  filter.limit = message.page_size() == 0 ? kMaxPageSize : message.page_size();
  for (const int state : message.states()) {
    TANGRAM_ASSIGN_OR_RETURN(filter.states.emplace_back(), FromProto(state));
  }
  return filter;
}

v1::Job ToProto(const Job& job, const Caller& caller) {
  v1::Job message;
  message.set_job_id(JobNameFor(job.id, caller));
  message.set_state(ToProto(job.state));
  message.set_priority(job.priority);
  message.set_cancel_requested(job.cancel_requested);
  message.set_attempts(job.attempts);
  message.set_submitted_s(job.submitted_s);
  message.set_started_s(job.started_s);
  message.set_finished_s(job.finished_s);
  SetResult(job.result, message);
  if (!job.error.ok()) SetError(job.error, message);
  return message;
}

}  // namespace tangram
