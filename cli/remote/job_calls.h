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

// The calls of proto/tangram/v1/job_service.proto. Each returns the
// coordinator's error, kUnavailable if it cannot be reached, or kCancelled once
// `stop` says so.
namespace tangram {

// Submits a job. If the coordinator goes away meanwhile, tries again for at
// most a minute. Submitting the same job again returns the same job.
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
// Returns at most `limit` jobs of a list, from as many pages as that takes.
absl::StatusOr<std::vector<v1::Job>> ListJobs(
    const CoordinatorAccess& coordinator, v1::ListJobsRequest request,
    int limit, const StopCondition& stop);
absl::StatusOr<v1::Job> UpdateJob(const CoordinatorAccess& coordinator,
                                  const v1::UpdateJobRequest& request,
                                  const StopCondition& stop);
absl::StatusOr<v1::Job> RetryJob(const CoordinatorAccess& coordinator,
                                 const v1::RetryJobRequest& request,
                                 const StopCondition& stop);
absl::Status DeleteJob(const CoordinatorAccess& coordinator,
                       const std::string& job_id, bool allow_missing,
                       const StopCondition& stop);
// Waits until the job has ended, or for `timeout_s` seconds (0: no limit), and
// returns it as it is then.
absl::StatusOr<v1::Job> WaitForJob(const CoordinatorAccess& coordinator,
                                   const std::string& job_id, double timeout_s,
                                   const StopCondition& stop);

inline constexpr double kDayOfJobsS = 86400;

// Reads labels, "NAME=VALUE" each.
absl::Status SetLabels(const std::vector<std::string>& texts,
                       google::protobuf::Map<std::string, std::string>& labels);

// Waits until the job has ended and shows its progress on `line`. Waits at most
// a minute for a coordinator that goes away.
absl::StatusOr<v1::Job> AwaitJob(const CoordinatorAccess& coordinator,
                                 const std::string& job_id,
                                 const StopCondition& stop, ProgressLine& line);

// Returns the plan of a job that has ended, or the error that it ended with.
// kFailedPrecondition for a job that has not ended.
absl::StatusOr<PlanFile> ResultOf(const v1::Job& job);

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_JOB_CALLS_H_
