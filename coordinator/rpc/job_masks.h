#ifndef TANGRAM_COORDINATOR_RPC_JOB_MASKS_H_
#define TANGRAM_COORDINATOR_RPC_JOB_MASKS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/auth/caller.h"
#include "coordinator/store/job_store.h"

namespace google::protobuf {
class FieldMask;
}  // namespace google::protobuf

namespace tangram::v1 {
class Job;
class UpdateJobRequest;
}  // namespace tangram::v1

// Masks of the fields of jobs (Google's AIP-157 and AIP-134).
namespace tangram {

// Checks that all paths are fields of a job.
absl::Status CheckReadMask(const google::protobuf::FieldMask& mask);

// The same for jobs in a list, which are without their requests.
absl::Status CheckListMask(const google::protobuf::FieldMask& mask);

// Returns why an unfinished job was put back until other workers are there.
// Empty: it was not, or has got further since.
absl::StatusOr<std::string> WaitsFor(JobStore& store, const Job& job);

// Converts a job, with the fields that a checked mask names.
v1::Job ToProto(const Job& job, const Caller& caller,
                const google::protobuf::FieldMask& mask,
                const std::string& waits_for = "");

// Clears what a checked mask does not name. Without paths or with "*", leaves
// all.
void ApplyReadMask(const google::protobuf::FieldMask& mask, v1::Job& job);

// Whether a mask names the request of a job, which is only then returned.
bool NamesRequest(const google::protobuf::FieldMask& mask);

absl::StatusOr<JobChanges> ChangesOf(const v1::UpdateJobRequest& message);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_JOB_MASKS_H_
