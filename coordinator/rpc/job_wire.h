#ifndef TANGRAM_COORDINATOR_RPC_JOB_WIRE_H_
#define TANGRAM_COORDINATOR_RPC_JOB_WIRE_H_

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

// Checks that an id has 1 to 128 letters, digits and "._-".
absl::Status CheckJobId(absl::string_view id);

// Converts a request and checks it as a planning call would.
absl::StatusOr<Job> FromProto(const v1::SubmitJobRequest& message);
absl::StatusOr<JobFilter> FromProto(const v1::ListJobsRequest& message);
// Converts a job, with the name by which `caller` knows it.
v1::Job ToProto(const Job& job, const Caller& caller);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_JOB_WIRE_H_
