#ifndef TANGRAM_CLI_REMOTE_JOB_CALLS_H_
#define TANGRAM_CLI_REMOTE_JOB_CALLS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/planning/plan_monitor.h"
#include "cli/print/progress_line.h"
#include "common/security/channel.h"
#include "common/trace/trace.h"
#include "common/wire/plan_file.h"
#include "tangram/v1/job_service.pb.h"

// The calls of proto/tangram/v1/job_service.proto. Errors are the
// coordinator's, kUnavailable if it cannot be reached, kCancelled once `stop`
// says so.
namespace tangram {

// A coordinator that goes away meanwhile is waited for, for a minute.
absl::StatusOr<v1::Job> SubmitJob(const CoordinatorAccess& coordinator,
                                  const v1::SubmitJobRequest& request,
                                  const StopCondition& stop);
absl::StatusOr<v1::Job> GetJob(const CoordinatorAccess& coordinator,
                               const std::string& job_id,
                               const StopCondition& stop);
absl::StatusOr<v1::Job> CancelJob(const CoordinatorAccess& coordinator,
                                  const std::string& job_id,
                                  const StopCondition& stop);
absl::StatusOr<Trace> GetJobTrace(const CoordinatorAccess& coordinator,
                                  const std::string& job_id,
                                  const StopCondition& stop);
// All pages, up to `limit` jobs.
absl::StatusOr<std::vector<v1::Job>> ListJobs(
    const CoordinatorAccess& coordinator, int limit, const StopCondition& stop);

// Waits until the job has ended and shows its progress. A coordinator that goes
// away is waited for, for a minute.
absl::StatusOr<v1::Job> AwaitJob(const CoordinatorAccess& coordinator,
                                 const std::string& job_id,
                                 const StopCondition& stop, ProgressLine& line);

// The plan of a job that has ended, or the error with which it did.
absl::StatusOr<PlanFile> ResultOf(const v1::Job& job);

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_JOB_CALLS_H_
