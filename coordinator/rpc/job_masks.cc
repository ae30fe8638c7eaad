#include "coordinator/rpc/job_masks.h"

#include <google/protobuf/util/field_mask_util.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/wire/field_checks.h"
#include "coordinator/rpc/job_wire.h"
#include "tangram/v1/job_service.pb.h"

namespace tangram {
namespace {

using google::protobuf::FieldMask;
using google::protobuf::util::FieldMaskUtil;

constexpr int kMaxPaths = 100;

bool IsAll(const FieldMask& mask) {
  return mask.paths().empty() ||
         std::find(mask.paths().begin(), mask.paths().end(), "*") !=
             mask.paths().end();
}

}  // namespace

absl::Status CheckReadMask(const FieldMask& mask) {
  if (mask.paths_size() > kMaxPaths) {
    return FieldError("read_mask", absl::StrCat(mask.paths_size(), " paths"),
                      absl::StrCat("at most ", kMaxPaths));
  }
  for (const std::string& path : mask.paths()) {
    if (path == "*" || FieldMaskUtil::IsValidPath<v1::Job>(path)) continue;
    return FieldError("read_mask",
                      absl::StrCat("\"", path.substr(0, 100), "\""),
                      "fields of a job");
  }
  return absl::OkStatus();
}

void ApplyReadMask(const FieldMask& mask, v1::Job& job) {
  if (!IsAll(mask)) FieldMaskUtil::TrimMessage(mask, &job);
}

bool NamesRequest(const FieldMask& mask) {
  return std::any_of(
      mask.paths().begin(), mask.paths().end(), [](const std::string& path) {
        return path == "request" || absl::StartsWith(path, "request.");
      });
}

absl::Status CheckListMask(const FieldMask& mask) {
  TANGRAM_RETURN_IF_ERROR(CheckReadMask(mask));
  if (!NamesRequest(mask)) return absl::OkStatus();
  return FieldError("read_mask", "\"request\"",
                    "fields of a job but its request, which GetJob returns");
}

absl::StatusOr<std::string> WaitsFor(JobStore& store, const Job& job) {
  if (IsFinished(job.state) || job.attempts == 0) return "";
  TANGRAM_ASSIGN_OR_RETURN(const JobPulse pulse, store.Pulse(job.id));
  // It was queued again by its owner, so what it waited for is past.
  if (pulse.state == JobState::kQueued && !pulse.is_put_back) return "";
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<JobEvent> last,
                           store.EventsAfter(job.id, pulse.last_event - 1));
  v1::PlanProgress progress;
  if (last.empty() || !progress.ParseFromString(last.back().progress)) {
    return "";
  }
  return progress.waits_for();
}

v1::Job ToProto(const Job& job, const Caller& caller, const FieldMask& mask,
                const std::string& waits_for) {
  v1::Job message = ToProto(job, caller);
  message.set_waits_for(waits_for);
  if (NamesRequest(mask)) {
    message.mutable_request()->ParseFromString(job.request);
  }
  ApplyReadMask(mask, message);
  return message;
}

absl::StatusOr<JobChanges> ChangesOf(const v1::UpdateJobRequest& message) {
  JobChanges changes;
  const v1::Job& job = message.job();
  for (const std::string& path : message.update_mask().paths()) {
    if (path == "priority") {
      changes.priority = job.priority();
    } else if (path == "labels") {
      TANGRAM_ASSIGN_OR_RETURN(changes.labels,
                               InField("job", CheckedLabels(job.labels())));
    } else if (path == "keep_s") {
      TANGRAM_RETURN_IF_ERROR(CheckJobTime("job.keep_s", job.keep_s()));
      changes.keep_s = job.keep_s();
    } else if (path == "deadline_s") {
      TANGRAM_RETURN_IF_ERROR(
          CheckNotNegative("job.deadline_s", job.deadline_s()));
      changes.deadline_s = job.deadline_s();
    } else {
      return FieldError("update_mask",
                        absl::StrCat("\"", path.substr(0, 100), "\""),
                        "priority, labels, keep_s or deadline_s");
    }
  }
  if (message.has_timeout_s()) {
    TANGRAM_RETURN_IF_ERROR(CheckJobTime("timeout_s", message.timeout_s()));
    if (changes.deadline_s.has_value()) {
      return FieldError("timeout_s", message.timeout_s(),
                        "no deadline_s beside it");
    }
    changes.timeout_s = message.timeout_s();
  } else if (message.update_mask().paths().empty()) {
    return FieldError("update_mask", "missing",
                      "priority, labels, keep_s or deadline_s");
  }
  return changes;
}

}  // namespace tangram
