#include "coordinator/service/job_service.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/grpc_status.h"
#include "common/wire/trace_wire.h"
#include "coordinator/service/job_wire.h"
#include "coordinator/service/watch_job.h"
#include "tangram/v1/job_service.grpc.pb.h"

namespace tangram {
namespace {

class JobService : public v1::Jobs::CallbackService {
 public:
  explicit JobService(const JobServiceParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const v1::SubmitJobRequest* request,
                                      v1::Job* response) override {
    return Answer(context, response, [this, request] {
      absl::StatusOr<Job> job = FromProto(*request);
      if (job.ok()) job = parts_.store.Submit(*job);
      if (job.ok()) parts_.on_changed();
      return job;
    });
  }

  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request,
                                   v1::Job* response) override {
    return Answer(context, response, [this, request] {
      return parts_.store.Get(request->job_id());
    });
  }

  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::Job* response) override {
    return Answer(context, response, [this, request] {
      absl::StatusOr<Job> job = parts_.store.Cancel(request->job_id());
      if (job.ok()) parts_.on_changed();
      if (job.ok()) parts_.watchers.Notify(job->id);
      return job;
    });
  }

  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override {
    return Run(context,
               [this, request, response] { return List(*request, *response); });
  }

  grpc::ServerWriteReactor<v1::JobUpdate>* WatchJob(
      grpc::CallbackServerContext*,
      const v1::WatchJobRequest* request) override {
    return StartWatch({.store = parts_.store,
                       .watchers = parts_.watchers,
                       .executor = parts_.executor},
                      *request);
  }

  grpc::ServerUnaryReactor* GetJobTrace(grpc::CallbackServerContext* context,
                                        const v1::GetJobTraceRequest* request,
                                        v1::Trace* response) override {
    return Run(context, [this, request, response] {
      return GetTrace(request->job_id(), *response);
    });
  }

 private:
  absl::Status GetTrace(const std::string& job_id, v1::Trace& response) {
    TANGRAM_RETURN_IF_ERROR(parts_.store.Get(job_id).status());
    const auto tracer = parts_.traces.Find(job_id);
    if (tracer == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(
          "job ", job_id,
          ": no trace; expected one of the latest jobs that this coordinator "
          "ran"));
    }
    response = ToProto(tracer->ToTrace());
    return absl::OkStatus();
  }

  // Calls `task`, which returns a status, on the executor and ends the call
  // with it.
  template <typename Task>
  grpc::ServerUnaryReactor* Run(grpc::CallbackServerContext* context,
                                Task task) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const auto job = parts_.executor.Submit(
        [reactor, task = std::move(task)] { reactor->Finish(ToGrpc(task())); });
    if (!job.has_value()) {
      reactor->Finish(ToGrpc(absl::ResourceExhaustedError(
          "too many calls at once; expected to be asked again later")));
    }
    return reactor;
  }

  // The same for what returns a job.
  template <typename Task>
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                   v1::Job* response, Task task) {
    return Run(context, [response, task = std::move(task)] {
      const absl::StatusOr<Job> job = task();
      if (job.ok()) *response = ToProto(*job);
      return job.status();
    });
  }

  absl::Status List(const v1::ListJobsRequest& request,
                    v1::ListJobsResponse& response) {
    TANGRAM_ASSIGN_OR_RETURN(JobFilter filter, FromProto(request));
    const size_t page_size = filter.limit++;
    TANGRAM_ASSIGN_OR_RETURN(std::vector<Job> jobs, parts_.store.List(filter));
    if (jobs.size() > page_size) {
      jobs.pop_back();
      response.set_next_page_token(jobs.back().id);
    }
    for (const Job& job : jobs) *response.add_jobs() = ToProto(job);
    return absl::OkStatus();
  }

  const JobServiceParts parts_;
};

}  // namespace

std::unique_ptr<grpc::Service> CreateJobService(const JobServiceParts& parts) {
  return std::make_unique<JobService>(parts);
}

}  // namespace tangram
