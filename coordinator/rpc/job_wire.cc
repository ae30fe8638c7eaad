#include "coordinator/rpc/job_wire.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/wire/field_checks.h"
#include "common/wire/message_json.h"
#include "coordinator/planning/plan_request_wire.h"
#include "coordinator/rpc/job_filter.h"
#include "coordinator/rpc/job_names.h"
#include "tangram/v1/job_service.pb.h"

namespace tangram {
namespace {

// Limit, because ids are keys of the database and appear in tables.
constexpr size_t kMaxIdLength = 128;
// Limit, because results are read from the database for each job of a page.
constexpr int kMaxPageSize = 100;

constexpr double kMaxJobTimeS = 10 * 365 * 86400.;
constexpr int64_t kMaxLabels = 64;
constexpr size_t kMaxLabelLength = 63;
constexpr size_t kMaxWebhookLength = 1000;

bool IsIdCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
}

// A part of a bad text, for a message.
std::string Shown(absl::string_view text) {
  return absl::CHexEscape(text.substr(0, kMaxIdLength));
}

absl::Status CheckWebhook(const std::string& url, const WebhookRules& rules) {
  if (url.empty()) return absl::OkStatus();
  if (!rules.is_on) {
    return absl::FailedPreconditionError(
        "webhook: the coordinator has no --webhook_secret_file to sign events "
        "with");
  }
  const absl::string_view expected = rules.allows_plain_http
                                         ? "https://HOST/... or http://HOST/..."
                                         : "https://HOST/...";
  absl::string_view rest = url;
  const bool has_scheme =
      absl::ConsumePrefix(&rest, "https://") ||
      (rules.allows_plain_http && absl::ConsumePrefix(&rest, "http://"));
  const absl::string_view host = rest.substr(0, rest.find('/'));
  const bool is_good = has_scheme && !host.empty() && host[0] != ':' &&
                       url.size() <= kMaxWebhookLength &&
                       // Credentials in addresses end in logs.
                       !absl::StrContains(host, '@') &&
                       !absl::StrContains(url, '#') &&
                       std::all_of(url.begin(), url.end(), absl::ascii_isgraph);
  if (is_good) return absl::OkStatus();
  return FieldError("webhook", absl::StrCat("\"", Shown(url), "\""), expected);
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
                       std::all_of(id.begin(), id.end(), IsIdCharacter) &&
                       !IsDotSegment(id);
  if (is_good) return absl::OkStatus();
  return FieldError(
      "job_id", absl::StrCat("\"", Shown(id), "\""),
      absl::StrCat("1 to ", kMaxIdLength,
                   " letters, digits, dots, underscores and hyphens, but not "
                   "\".\" or \"..\", which paths drop"));
}

absl::Status CheckJobTime(absl::string_view field, double time_s) {
  return CheckWithin(field, time_s, 0, kMaxJobTimeS);
}

absl::StatusOr<std::map<std::string, std::string>> CheckedLabels(
    const google::protobuf::Map<std::string, std::string>& labels) {
  TANGRAM_RETURN_IF_ERROR(
      CheckCount("labels", static_cast<int64_t>(labels.size()), kMaxLabels));
  for (const auto& [name, value] : labels) {
    const bool is_good_name = !name.empty() && name.size() <= kMaxLabelLength &&
                              std::all_of(name.begin(), name.end(), [](char c) {
                                return IsIdCharacter(c) || c == '/';
                              });
    if (!is_good_name) {
      return FieldError("labels", absl::StrCat("\"", Shown(name), "\""),
                        absl::StrCat("names of 1 to ", kMaxLabelLength,
                                     " letters, digits and ._-/"));
    }
    if (value.size() > kMaxLabelLength ||
        !std::all_of(value.begin(), value.end(), IsIdCharacter)) {
      return FieldError(
          absl::StrCat("labels.", name), absl::StrCat("\"", Shown(value), "\""),
          absl::StrCat("0 to ", kMaxLabelLength, " letters, digits and ._-"));
    }
  }
  return std::map<std::string, std::string>(labels.begin(), labels.end());
}

absl::StatusOr<Job> FromProto(const v1::SubmitJobRequest& message, double now_s,
                              const WebhookRules& rules) {
  TANGRAM_RETURN_IF_ERROR(CheckJobId(message.job_id()));
  TANGRAM_RETURN_IF_ERROR(
      InField("request", FromProto(message.request())).status());
  TANGRAM_RETURN_IF_ERROR(CheckJobTime("timeout_s", message.timeout_s()));
  TANGRAM_RETURN_IF_ERROR(CheckJobTime("keep_s", message.keep_s()));
  TANGRAM_RETURN_IF_ERROR(CheckWebhook(message.webhook(), rules));
  Job job{.id = message.job_id(),
          .request = message.request().SerializeAsString(),
          .priority = message.priority(),
          .submitted_s = now_s,
          .keep_s = message.keep_s(),
          .webhook = message.webhook()};
  TANGRAM_ASSIGN_OR_RETURN(job.labels, CheckedLabels(message.labels()));
  // Shorter ones would be lost beside the seconds since 1970.
  constexpr double kLeastTimeoutS = 1e-3;
  if (message.timeout_s() > 0) {
    job.deadline_s = now_s + std::max(message.timeout_s(), kLeastTimeoutS);
  }
  return job;
}

absl::StatusOr<JobFilter> FromProto(const v1::ListJobsRequest& message) {
  if (message.page_size() < 0) {
    return FieldError("page_size", message.page_size(), "0 or more");
  }
  JobFilter filter;
  filter.limit = message.page_size() == 0
                     ? kMaxPageSize
                     : std::min(message.page_size(), kMaxPageSize);
  TANGRAM_ASSIGN_OR_RETURN(filter.order, ParseJobOrder(message.order_by()));
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
  message.mutable_labels()->insert(job.labels.begin(), job.labels.end());
  message.set_deadline_s(job.deadline_s);
  message.set_keep_s(job.keep_s);
  message.set_webhook(job.webhook);
  message.set_losses(job.losses);
  SetResult(job.result, message);
  if (!job.error.ok()) {
    SetError(WithJobName(job.error, job.id, caller), message);
  }
  return message;
}

std::string EventOfEnd(Job job) {
  job.result.clear();
  const absl::StatusOr<std::string> text = MessageToJson(
      ToProto(job, {.tenant = job.share_key}), DefaultValues::kLeaveOut);
  return absl::StrCat("{\"type\":\"job.ended\",\"job\":", text.value_or("{}"),
                      "}");
}

}  // namespace tangram
