#include "cli/remote/job_calls.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/remote/coordinator_channel.h"
#include "cli/remote/progress_follower.h"
#include "cli/remote/stream_call.h"
#include "common/base/status_macros.h"
#include "common/wire/trace_wire.h"
#include "tangram/v1/job_service.grpc.pb.h"

namespace tangram {
namespace {

using Clock = std::chrono::steady_clock;

// Longer than the 10 s of calls that only read: a job is answered when the
// database has it.
constexpr std::chrono::seconds kCallTimeout(30);
// How long a coordinator may be away while a job is submitted or watched,
// enough for a restart. Two attempts a second cost it little.
constexpr std::chrono::seconds kAbsence(60);
constexpr std::chrono::milliseconds kRetryInterval(500);
// Jobs per page; the coordinator returns no more.
constexpr int kPageSize = 100;

// The seconds of one call that waits for a job, within its deadline.
constexpr double kWaitS = 20;

using Stub = v1::Jobs::Stub;

// Connects and calls `method` of the stub with a deadline.
template <typename Request, typename Response>
absl::StatusOr<Response> Call(const CoordinatorAccess& coordinator,
                              const Request& request, const StopCondition& stop,
                              grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                           const Request&,
                                                           Response*)) {
  TANGRAM_ASSIGN_OR_RETURN(const auto channel,
                           ConnectToCoordinator(coordinator, stop));
  const std::unique_ptr<Stub> stub = v1::Jobs::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  Response response;
  TANGRAM_RETURN_IF_ERROR(
      CallStatus((stub.get()->*method)(&context, request, &response)));
  return response;
}

// Watches from the update after `event` until the job or the connection ends.
// Sets `event` to the last update seen, so that the next call goes on there.
absl::StatusOr<v1::Job> Watch(const CoordinatorAccess& coordinator,
                              const std::string& job_id,
                              const StopCondition& stop,
                              ProgressFollower& follower, int64_t& event) {
  TANGRAM_ASSIGN_OR_RETURN(const auto channel,
                           ConnectToCoordinator(coordinator, stop));
  const std::unique_ptr<Stub> stub = v1::Jobs::NewStub(channel);
  v1::WatchJobRequest request;
  request.set_job_id(job_id);
  request.set_after_event(event);
  StreamCall<v1::JobUpdate> call(stop, [&](auto* context, auto* queue) {
    return stub->AsyncWatchJob(context, request, queue, /*tag=*/nullptr);
  });
  std::optional<v1::Job> ended;
  while (std::optional<v1::JobUpdate> update = call.Next()) {
    if (update->has_progress()) {
      event = update->event();
      follower.Show(update->progress());
    }
    if (update->has_job()) ended = std::move(*update->mutable_job());
  }
  TANGRAM_RETURN_IF_ERROR(call.Finish());
  if (ended) return *std::move(ended);
  return absl::UnavailableError("the coordinator ended without a result");
}

}  // namespace

absl::StatusOr<v1::Job> SubmitJob(const CoordinatorAccess& coordinator,
                                  const v1::SubmitJobRequest& request,
                                  const StopCondition& stop) {
  // Do not wait for a coordinator that does not answer to begin with.
  TANGRAM_RETURN_IF_ERROR(ConnectToCoordinator(coordinator, stop).status());
  const auto give_up = Clock::now() + kAbsence;
  while (true) {
    absl::StatusOr<v1::Job> job =
        Call(coordinator, request, stop, &Stub::SubmitJob);
    if (!absl::IsUnavailable(job.status()) || Clock::now() >= give_up) {
      return job;
    }
    std::this_thread::sleep_for(kRetryInterval);
  }
}

absl::StatusOr<v1::Job> GetJob(const CoordinatorAccess& coordinator,
                               const std::string& job_id,
                               const StopCondition& stop) {
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  return Call(coordinator, request, stop, &Stub::GetJob);
}

absl::StatusOr<v1::Job> CancelJob(const CoordinatorAccess& coordinator,
                                  const std::string& job_id,
                                  const StopCondition& stop) {
  v1::CancelJobRequest request;
  request.set_job_id(job_id);
  return Call(coordinator, request, stop, &Stub::CancelJob);
}

absl::StatusOr<Trace> GetJobTrace(const CoordinatorAccess& coordinator,
                                  const std::string& job_id,
                                  const StopCondition& stop) {
  v1::GetJobTraceRequest request;
  request.set_job_id(job_id);
  TANGRAM_ASSIGN_OR_RETURN(
      const v1::Trace trace,
      Call(coordinator, request, stop, &Stub::GetJobTrace));
  return FromProto(trace);
}

absl::StatusOr<v1::Job> UpdateJob(const CoordinatorAccess& coordinator,
                                  const v1::UpdateJobRequest& request,
                                  const StopCondition& stop) {
  return Call(coordinator, request, stop, &Stub::UpdateJob);
}

absl::StatusOr<v1::Job> RetryJob(const CoordinatorAccess& coordinator,
                                 const v1::RetryJobRequest& request,
                                 const StopCondition& stop) {
  return Call(coordinator, request, stop, &Stub::RetryJob);
}

absl::Status DeleteJob(const CoordinatorAccess& coordinator,
                       const std::string& job_id, bool allow_missing,
                       const StopCondition& stop) {
  v1::DeleteJobRequest request;
  request.set_job_id(job_id);
  request.set_allow_missing(allow_missing);
  return Call(coordinator, request, stop, &Stub::DeleteJob).status();
}

absl::StatusOr<v1::Job> WaitForJob(const CoordinatorAccess& coordinator,
                                   const std::string& job_id, double timeout_s,
                                   const StopCondition& stop) {
  const auto began = Clock::now();
  while (true) {
    v1::WaitJobRequest request;
    request.set_job_id(job_id);
    const double waited_s =
        std::chrono::duration<double>(Clock::now() - began).count();
    // One call has a deadline, so a long wait takes several.
    request.set_timeout_s(timeout_s > 0
                              ? std::clamp(timeout_s - waited_s, 0.01, kWaitS)
                              : kWaitS);
    TANGRAM_ASSIGN_OR_RETURN(v1::Job job,
                             Call(coordinator, request, stop, &Stub::WaitJob));
    const bool has_ended =
        job.state() != v1::Job::QUEUED && job.state() != v1::Job::RUNNING;
    const bool is_late = timeout_s > 0 && waited_s + kWaitS >= timeout_s;
    if (has_ended || is_late || stop.ShouldStop()) return job;
  }
}

absl::Status SetLabels(
    const std::vector<std::string>& texts,
    google::protobuf::Map<std::string, std::string>& labels) {
  for (const std::string& text : texts) {
    const std::vector<std::string> parts =
        absl::StrSplit(text, absl::MaxSplits('=', 1));
    if (parts.size() != 2 || parts[0].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--label: ", text, "; expected NAME=VALUE"));
    }
    labels[parts[0]] = parts[1];
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::Job>> ListJobs(
    const CoordinatorAccess& coordinator, v1::ListJobsRequest request,
    int limit, const StopCondition& stop) {
  std::vector<v1::Job> jobs;
  while (static_cast<int>(jobs.size()) < limit) {
    request.set_page_size(
        std::min(kPageSize, limit - static_cast<int>(jobs.size())));
    TANGRAM_ASSIGN_OR_RETURN(const v1::ListJobsResponse page,
                             Call(coordinator, request, stop, &Stub::ListJobs));
    jobs.insert(jobs.end(), page.jobs().begin(), page.jobs().end());
    if (page.next_page_token().empty()) break;
    request.set_page_token(page.next_page_token());
  }
  return jobs;
}

absl::StatusOr<v1::Job> AwaitJob(const CoordinatorAccess& coordinator,
                                 const std::string& job_id,
                                 const StopCondition& stop,
                                 ProgressLine& line) {
  ProgressFollower follower(line);
  int64_t event = 0;
  auto give_up = Clock::now() + kAbsence;
  while (true) {
    const int64_t seen = event;
    const auto began = Clock::now();
    absl::StatusOr<v1::Job> job =
        Watch(coordinator, job_id, stop, follower, event);
    line.Clear();
    if (!absl::IsUnavailable(job.status()) || stop.ShouldStop()) return job;
    // The coordinator answered during this attempt, so the wait begins again.
    if (event > seen || Clock::now() - began > kCallTimeout) {
      give_up = Clock::now() + kAbsence;
    }
    if (Clock::now() >= give_up) return job;
    std::this_thread::sleep_for(kRetryInterval);
  }
}

absl::StatusOr<PlanFile> ResultOf(const v1::Job& job) {
  switch (job.state()) {
    case v1::Job::SUCCEEDED:
      return FromProto(job.result());
    case v1::Job::FAILED:
      return absl::Status(static_cast<absl::StatusCode>(job.error().code()),
                          job.error().message());
    case v1::Job::CANCELLED:
      return absl::CancelledError(
          absl::StrCat("job ", job.job_id(), " was cancelled"));
    default:
      return absl::FailedPreconditionError(
          absl::StrCat("job ", job.job_id(), " has not ended"));
  }
}

}  // namespace tangram
