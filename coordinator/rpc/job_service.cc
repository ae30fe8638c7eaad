#include "coordinator/rpc/job_service.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/sync/mutex.h"
#include "common/wire/grpc_status.h"
#include "common/wire/trace_wire.h"
#include "coordinator/auth/call_gate.h"
#include "coordinator/rpc/job_names.h"
#include "coordinator/rpc/job_wire.h"
#include "coordinator/rpc/received_message.h"
#include "coordinator/rpc/watch_job.h"
#include "tangram/v1/job_service.grpc.pb.h"

namespace tangram {
namespace {

// Takes requests as bytes, which are measured before they are parsed.
using RawJobs = v1::Jobs::WithRawCallbackMethod_SubmitJob<
    v1::Jobs::WithRawCallbackMethod_GetJob<
        v1::Jobs::WithRawCallbackMethod_CancelJob<
            v1::Jobs::WithRawCallbackMethod_ListJobs<
                v1::Jobs::WithRawCallbackMethod_WatchJob<
                    v1::Jobs::WithRawCallbackMethod_GetJobTrace<
                        v1::Jobs::Service>>>>>>;

class JobService : public RawJobs {
 public:
  explicit JobService(const JobServiceParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override {
    // Counts the bytes while the call waits for its turn.
    auto memory = parts_.budget.Take(static_cast<int64_t>(request->Length()));
    if (!memory.ok()) return Refuse(context, memory.status());
    return Run(context, [this, request, response,
                         memory = std::make_shared<MemoryBudget::Share>(
                             *std::move(memory))](const Caller& caller) {
      absl::StatusOr<Job> job = Read(*request, *memory);
      if (job.ok()) job = Submit(*std::move(job), caller.tenant);
      if (!job.ok()) return job.status();
      parts_.on_changed();
      *response = SerializeMessage(ToProto(*job, caller));
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override {
    return Answer<v1::GetJobRequest>(
        context, *request, *response,
        [this](const v1::GetJobRequest& get,
               const Caller& caller) -> absl::StatusOr<v1::Job> {
          TANGRAM_ASSIGN_OR_RETURN(const std::string id,
                                   JobIdOf(get.job_id(), caller));
          TANGRAM_ASSIGN_OR_RETURN(const Job job, parts_.store.Get(id));
          return ToProto(job, caller);
        });
  }

  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override {
    return Answer<v1::CancelJobRequest>(
        context, *request, *response,
        [this](const v1::CancelJobRequest& cancel,
               const Caller& caller) -> absl::StatusOr<v1::Job> {
          TANGRAM_ASSIGN_OR_RETURN(const std::string id,
                                   JobIdOf(cancel.job_id(), caller));
          TANGRAM_ASSIGN_OR_RETURN(const Job job, parts_.store.Cancel(id));
          parts_.on_changed();
          parts_.watchers.Notify(id);
          return ToProto(job, caller);
        });
  }

  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override {
    return Answer<v1::ListJobsRequest>(
        context, *request, *response,
        [this](const v1::ListJobsRequest& list, const Caller& caller) {
          return List(list, caller);
        });
  }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchJob(
      grpc::CallbackServerContext* context,
      const grpc::ByteBuffer* request) override {
    return StartWatch({.store = parts_.store,
                       .watchers = parts_.watchers,
                       .quota = parts_.quota},
                      *request, CallerOf(parts_.authenticator, *context));
  }

  grpc::ServerUnaryReactor* GetJobTrace(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override {
    return Answer<v1::GetJobTraceRequest>(
        context, *request, *response,
        [this](const v1::GetJobTraceRequest& get, const Caller& caller) {
          return GetTrace(get.job_id(), caller);
        });
  }

 private:
  // Decodes a submission within the budget. Only the bytes of the job remain.
  absl::StatusOr<Job> Read(const grpc::ByteBuffer& bytes,
                           MemoryBudget::Share& memory) {
    TANGRAM_ASSIGN_OR_RETURN(
        const int64_t unfolded,
        MeasureMessage(bytes, *v1::SubmitJobRequest::descriptor(),
                       parts_.budget.max_bytes()));
    TANGRAM_RETURN_IF_ERROR(
        memory.Resize(static_cast<int64_t>(bytes.Length()) + unfolded));
    v1::SubmitJobRequest request;
    TANGRAM_RETURN_IF_ERROR(ParseMessage(bytes, request));
    return FromProto(request);
  }

  absl::StatusOr<v1::Trace> GetTrace(const std::string& name,
                                     const Caller& caller) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string job_id, JobIdOf(name, caller));
    TANGRAM_RETURN_IF_ERROR(parts_.store.Pulse(job_id).status());
    const auto tracer = parts_.traces.Find(job_id);
    if (tracer == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(
          "job ", name,
          ": no trace; expected one of the latest jobs that this coordinator "
          "ran"));
    }
    return ToProto(tracer->ToTrace());
  }

  // Runs `task` with the caller, on the executor. Ends the call with the status
  // that it returns.
  template <typename Task>
  grpc::ServerUnaryReactor* Run(grpc::CallbackServerContext* context,
                                Task task) {
    absl::StatusOr<Caller> caller = CallerOf(parts_.authenticator, *context);
    if (!caller.ok()) return Refuse(context, caller.status());
    const std::string tenant = caller->tenant;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const auto job = parts_.executor.Submit(
        tenant, [reactor, caller = *std::move(caller), task = std::move(task)] {
          reactor->Finish(ToGrpc(task(caller)));
        });
    if (job.has_value()) return reactor;
    parts_.on_refused(tenant, "calls");
    return Refuse(context, absl::ResourceExhaustedError(
                               "too many calls at once; ask again later"));
  }

  static grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context,
                                          const absl::Status& status) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpc(status));
    return reactor;
  }

  // Like Run, for a task that takes a request of a few names and numbers and
  // returns the answer.
  template <typename Request, typename Task>
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer& bytes,
                                   grpc::ByteBuffer& response, Task task) {
    Request request;
    if (const absl::Status status = ParseSmallRequest(bytes, request);
        !status.ok()) {
      return Refuse(context, status);
    }
    return Run(context, [&response, request = std::move(request),
                         task = std::move(task)](const Caller& caller) {
      const auto answer = task(request, caller);
      if (answer.ok()) response = SerializeMessage(*answer);
      return answer.status();
    });
  }

  absl::StatusOr<Job> Submit(Job job, const std::string& tenant) {
    job.id = JobId(tenant, job.id);
    job.share_key = tenant;
    // Keeps two calls at once from both taking the last place.
    const MutexLock lock(submit_mutex_);
    // A job that exists already takes no new place.
    if (absl::IsNotFound(parts_.store.Pulse(job.id).status())) {
      TANGRAM_ASSIGN_OR_RETURN(const int unfinished,
                               parts_.store.CountUnfinished(tenant));
      if (absl::Status full = parts_.quota.CheckJobs(tenant, unfinished);
          !full.ok()) {
        parts_.on_refused(tenant, "jobs");
        return full;
      }
    }
    TANGRAM_ASSIGN_OR_RETURN(Job kept, parts_.store.Submit(job));
    // Whoever does not wait for the job must learn that it will never run.
    if (absl::IsDataLoss(kept.error)) return kept.error;
    return kept;
  }

  absl::StatusOr<v1::ListJobsResponse> List(const v1::ListJobsRequest& request,
                                            const Caller& caller) {
    v1::ListJobsResponse response;
    TANGRAM_ASSIGN_OR_RETURN(JobFilter filter, FromProto(request));
    // Asks for one job more than a page, to learn whether there is another
    // page.
    const size_t page_size = filter.limit++;
    if (!caller.roles.Has(Role::kOperate)) filter.tenant = caller.tenant;
    if (!filter.before_id.empty()) {
      TANGRAM_ASSIGN_OR_RETURN(filter.before_id,
                               JobIdOf(filter.before_id, caller));
    }
    TANGRAM_ASSIGN_OR_RETURN(std::vector<Job> jobs, parts_.store.List(filter));
    if (jobs.size() > page_size) {
      jobs.pop_back();
      response.set_next_page_token(JobNameFor(jobs.back().id, caller));
    }
    for (const Job& job : jobs) *response.add_jobs() = ToProto(job, caller);
    return response;
  }

  const JobServiceParts parts_;
  Mutex submit_mutex_;  // Guards no field: makes submissions take turns.
};

}  // namespace

std::unique_ptr<grpc::Service> CreateJobService(const JobServiceParts& parts) {
  return std::make_unique<JobService>(parts);
}

}  // namespace tangram
