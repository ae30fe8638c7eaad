#ifndef TANGRAM_COORDINATOR_RPC_JOB_FILTER_H_
#define TANGRAM_COORDINATOR_RPC_JOB_FILTER_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// Whether a filter takes a job, which the caller knows by this name.
using JobPredicate =
    std::function<bool(const Job& job, const std::string& name)>;

// Reads ListJobsRequest.filter: a subset of Google's AIP-160, in which OR binds
// closer than AND. An empty text takes every job. Returns kInvalidArgument that
// names the part at fault.
absl::StatusOr<JobPredicate> ParseJobFilter(absl::string_view text);

// Reads ListJobsRequest.order_by (AIP-132), with one field.
absl::StatusOr<JobOrder> ParseJobOrder(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_JOB_FILTER_H_
