#ifndef TANGRAM_COORDINATOR_RPC_JOB_WIRE_H_
#define TANGRAM_COORDINATOR_RPC_JOB_WIRE_H_

#include <google/protobuf/map.h>

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/auth/caller.h"
#include "coordinator/store/job_store.h"

namespace tangram::v1 {
class Job;
class ListJobsRequest;
class SubmitJobRequest;
}  // namespace tangram::v1

namespace tangram {

// Checks that an id has 1 to 128 letters, digits and "._-", and is not "." or
// "..", which addresses drop.
absl::Status CheckJobId(absl::string_view id);

// Checks a time in seconds: 0 to ten years.
absl::Status CheckJobTime(absl::string_view field, double time_s);
// Checks the labels of a job.
absl::StatusOr<std::map<std::string, std::string>> CheckedLabels(
    const google::protobuf::Map<std::string, std::string>& labels);

// The webhooks that a coordinator takes.
struct WebhookRules {
  bool is_on = false;  // It has a secret.
  bool allows_plain_http = false;
};

// Converts a request and checks it as a planning call would. Its deadline is
// counted from `now_s` on.
absl::StatusOr<Job> FromProto(const v1::SubmitJobRequest& message, double now_s,
                              const WebhookRules& rules);
// Leaves out the place in the list.
absl::StatusOr<JobFilter> FromProto(const v1::ListJobsRequest& message);
// Converts a job, with the name by which `caller` knows it. Leaves out its
// request.
v1::Job ToProto(const Job& job, const Caller& caller);

// Returns what a webhook is told of a job that has ended, as JSON: all but its
// request and its plan.
std::string EventOfEnd(Job job);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_JOB_WIRE_H_
