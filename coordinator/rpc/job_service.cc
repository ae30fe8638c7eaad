#include "coordinator/rpc/job_service.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/sync/mutex.h"
#include "common/wire/error_details.h"
#include "common/wire/grpc_status.h"
#include "common/wire/trace_wire.h"
#include "coordinator/auth/call_gate.h"
#include "coordinator/rpc/job_filter.h"
#include "coordinator/rpc/job_masks.h"
#include "coordinator/rpc/job_names.h"
#include "coordinator/rpc/job_wire.h"
#include "coordinator/rpc/page_token.h"
#include "coordinator/rpc/received_message.h"
#include "coordinator/rpc/request_differences.h"
#include "coordinator/rpc/wait_job.h"
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
                        v1::Jobs::WithRawCallbackMethod_WaitJob<
                            v1::Jobs::WithRawCallbackMethod_UpdateJob<
                                v1::Jobs::WithRawCallbackMethod_RetryJob<
                                    v1::Jobs::WithRawCallbackMethod_DeleteJob<
                                        v1::Jobs::Service>>>>>>>>>>;

// Jobs that one call of ListJobs reads at most while it looks for those that a
// filter takes. Beyond them, a page has fewer jobs and a token.
constexpr int kMaxReadJobs = 5000;
constexpr int kReadAtOnce = 100;
// A tenant at its limit has a place again when a call or a job ends.
constexpr double kBusyDelayS = 5;
constexpr int kSubmitTries = 10;

// Says what in a request differs from that of the job with its id.
absl::Status OtherRequest(const std::string& name, const Job& kept,
                          const Job& asked) {
  std::string differences = RequestDifferences(kept.request, asked.request);
  if (differences.empty()) differences = "its encoding";
  return absl::AlreadyExistsError(absl::StrCat(
      "job_id: \"", name, "\" is another request, which differs in ",
      differences, "; expected a new id"));
}

absl::Status OtherSettings(const std::string& name,
                           const std::string& differences) {
  return absl::AlreadyExistsError(absl::StrCat(
      "job_id: \"", name, "\" has other settings: ", differences,
      "; expected those that it has now, or a new id; UpdateJob changes them"));
}

class JobService : public RawJobs {
 public:
  explicit JobService(const JobServiceParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override {
    const absl::StatusOr<Caller> submitter =
        CallerOf(parts_.authenticator, *context);
    if (!submitter.ok()) return Refuse(context, submitter.status());
    // Counts the bytes while the call waits for its turn.
    auto memory = parts_.budget.Take(static_cast<int64_t>(request->Length()),
                                     submitter->tenant);
    if (!memory.ok()) return Refuse(context, memory.status());
    return Run(context, [this, request, response,
                         memory = std::make_shared<MemoryBudget::Share>(
                             *std::move(memory))](const Caller& caller) {
      absl::StatusOr<Job> job = Read(*request, *memory);
      if (job.ok()) job = Submit(*std::move(job), caller);
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
          TANGRAM_RETURN_IF_ERROR(CheckReadMask(get.read_mask()));
          TANGRAM_ASSIGN_OR_RETURN(const std::string id,
                                   JobIdOf(get.job_id(), caller));
          TANGRAM_ASSIGN_OR_RETURN(const Job job, parts_.store.Get(id));
          TANGRAM_ASSIGN_OR_RETURN(const std::string waits_for,
                                   WaitsFor(parts_.store, job));
          return ToProto(job, caller, get.read_mask(), waits_for);
        });
  }

  grpc::ServerUnaryReactor* WaitJob(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override {
    return StartWait({.store = parts_.store,
                      .watchers = parts_.watchers,
                      .quota = parts_.quota},
                     parts_.now_s, *request,
                     CallerOf(parts_.authenticator, *context), *response);
  }

  grpc::ServerUnaryReactor* UpdateJob(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override {
    return Answer<v1::UpdateJobRequest>(
        context, *request, *response,
        [this](const v1::UpdateJobRequest& update,
               const Caller& caller) -> absl::StatusOr<v1::Job> {
          TANGRAM_ASSIGN_OR_RETURN(const std::string id,
                                   JobIdOf(update.job().job_id(), caller));
          TANGRAM_ASSIGN_OR_RETURN(const JobChanges changes, ChangesOf(update));
          TANGRAM_ASSIGN_OR_RETURN(const Job job,
                                   parts_.store.Update(id, changes));
          parts_.on_changed();
          return ToProto(job, caller);
        });
  }

  grpc::ServerUnaryReactor* RetryJob(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override {
    return Answer<v1::RetryJobRequest>(
        context, *request, *response,
        [this](const v1::RetryJobRequest& retry, const Caller& caller) {
          return Retry(retry, caller);
        });
  }

  grpc::ServerUnaryReactor* DeleteJob(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override {
    return Answer<v1::DeleteJobRequest>(
        context, *request, *response,
        [this](const v1::DeleteJobRequest& deletion, const Caller& caller)
            -> absl::StatusOr<google::protobuf::Empty> {
          const absl::StatusOr<std::string> id =
              JobIdOf(deletion.job_id(), caller);
          absl::Status status = id.status();
          if (id.ok()) status = parts_.store.Delete(*id);
          if (status.ok()) {
            parts_.traces.Drop(
                [&](const std::string& kept) { return kept == *id; });
          }
          if (absl::IsNotFound(status) && deletion.allow_missing()) {
            status = absl::OkStatus();
          }
          TANGRAM_RETURN_IF_ERROR(status);
          return google::protobuf::Empty();
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
    return FromProto(request, parts_.unix_now_s(), parts_.webhooks);
  }

  absl::StatusOr<v1::Trace> GetTrace(const std::string& name,
                                     const Caller& caller) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string job_id, JobIdOf(name, caller));
    TANGRAM_ASSIGN_OR_RETURN(const Job job, parts_.store.Get(job_id));
    const auto tracer = parts_.traces.Find(job_id, job.submitted_s);
    if (tracer == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(
          "job ", name,
          ": no trace; expected one of the latest jobs that this coordinator "
          "ran"));
    }
    return ToProto(tracer->ToTrace());
  }

  template <typename Request>
  static std::string NameIn(const Request& request) {
    if constexpr (std::is_same_v<Request, v1::UpdateJobRequest>) {
      return request.job().job_id();
    } else if constexpr (std::is_same_v<Request, v1::ListJobsRequest>) {
      return "";
    } else {
      return request.job_id();
    }
  }
  // Names the job in errors that are about one.
  static absl::Status AboutJob(absl::Status status, const std::string& name,
                               const Caller& caller) {
    const bool is_about_it =
        absl::IsNotFound(status) || absl::IsAlreadyExists(status) ||
        absl::IsFailedPrecondition(status) || absl::IsDataLoss(status);
    if (!is_about_it || name.empty()) return status;
    const absl::StatusOr<std::string> id = JobIdOf(name, caller);
    if (id.ok()) status = WithJobName(status, *id, caller);
    return WithResource(std::move(status), "tangram.v1.Job", name);
  }

  absl::StatusOr<v1::Job> Retry(const v1::RetryJobRequest& request,
                                const Caller& caller) {
    TANGRAM_RETURN_IF_ERROR(CheckJobTime("timeout_s", request.timeout_s()));
    TANGRAM_ASSIGN_OR_RETURN(const std::string id,
                             JobIdOf(request.job_id(), caller));
    const MutexLock lock(submit_mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const JobPulse pulse, parts_.store.Pulse(id));
    // It takes a place among the unfinished jobs again.
    if (IsFinished(pulse.state)) {
      TANGRAM_RETURN_IF_ERROR(
          CheckRoom(TenantOf(id), &TenantQuota::CheckRetry));
    }
    TANGRAM_ASSIGN_OR_RETURN(const Job job,
                             parts_.store.Retry(id, request.timeout_s()));
    parts_.on_changed();
    parts_.watchers.Notify(id);
    return ToProto(job, caller);
  }

  // `check` is CheckJobs or CheckRetry.
  template <typename Check>
  absl::Status CheckRoom(const std::string& tenant, Check check) {
    TANGRAM_ASSIGN_OR_RETURN(const TenantUsage usage,
                             parts_.store.Usage(tenant));
    absl::Status full = (parts_.quota.*check)(tenant, usage);
    if (full.ok()) return full;
    parts_.on_refused(tenant, "jobs");
    return WithRetryDelay(std::move(full), kBusyDelayS);
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
    return Refuse(
        context,
        parts_.quota.Busy(tenant, "too many calls at once; ask again later"));
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
      return AboutJob(answer.status(), NameIn(request), caller);
    });
  }

  // Another job of the name may be deleted at any moment, which makes way.
  absl::StatusOr<Job> Submit(Job job, const Caller& caller) {
    const std::string name = job.id;
    job.id = JobId(caller.tenant, name);
    job.share_key = caller.tenant;
    for (int i = 0; i < kSubmitTries; ++i) {
      absl::StatusOr<Job> submitted = TrySubmit(job, name, caller);
      if (!absl::IsNotFound(submitted.status())) return submitted;
    }
    return absl::AbortedError(absl::StrCat(
        "job_id: \"", name, "\" was deleted meanwhile; submit it again"));
  }

  // Returns kNotFound if a job of the name has been deleted meanwhile.
  absl::StatusOr<Job> TrySubmit(const Job& job, const std::string& name,
                                const Caller& caller) {
    // Keeps two calls at once from both taking the last place.
    const MutexLock lock(submit_mutex_);
    // A job that exists already takes no new place.
    if (absl::IsNotFound(parts_.store.Pulse(job.id).status())) {
      TANGRAM_RETURN_IF_ERROR(
          CheckRoom(caller.tenant, &TenantQuota::CheckJobs));
    }
    absl::StatusOr<Job> submitted = parts_.store.Submit(job);
    if (absl::IsAlreadyExists(submitted.status())) {
      TANGRAM_ASSIGN_OR_RETURN(const Job other, parts_.store.Get(job.id));
      return AboutJob(OtherRequest(name, other, job), name, caller);
    }
    TANGRAM_ASSIGN_OR_RETURN(Job kept, std::move(submitted));
    // Whoever does not wait for the job must learn that it will never run.
    if (absl::IsDataLoss(kept.error)) return kept.error;
    if (const std::string other = SettingDifferences(kept, job);
        !other.empty()) {
      return AboutJob(OtherSettings(name, other), name, caller);
    }
    return kept;
  }

  absl::StatusOr<v1::ListJobsResponse> List(const v1::ListJobsRequest& request,
                                            const Caller& caller) {
    TANGRAM_RETURN_IF_ERROR(CheckListMask(request.read_mask()));
    TANGRAM_ASSIGN_OR_RETURN(const JobPredicate takes,
                             ParseJobFilter(request.filter()));
    TANGRAM_ASSIGN_OR_RETURN(JobFilter filter, FromProto(request));
    if (!caller.roles.Has(Role::kOperate)) filter.tenant = caller.tenant;
    const std::string query = QueryOf(request);
    if (!request.page_token().empty()) {
      TANGRAM_ASSIGN_OR_RETURN(filter.after,
                               ParsePageToken(request.page_token(), query));
      TANGRAM_ASSIGN_OR_RETURN(filter.after->id,
                               JobIdOf(filter.after->id, caller));
    }
    const int page_size = std::exchange(filter.limit, kReadAtOnce);
    // One job more than a page tells whether there is another page.
    if (request.filter().empty()) filter.limit = page_size + 1;
    v1::ListJobsResponse response;
    std::optional<JobCursor> last;  // The last job that was looked at.
    for (int read = 0; read < kMaxReadJobs; read += filter.limit) {
      TANGRAM_ASSIGN_OR_RETURN(const std::vector<Job> jobs,
                               parts_.store.List(filter));
      for (const Job& job : jobs) {
        const std::string name = JobNameFor(job.id, caller);
        if (takes(job, name)) {
          if (response.jobs_size() == page_size) {
            SetToken(*last, query, caller, response);
            return response;
          }
          *response.add_jobs() = ToProto(job, caller, request.read_mask());
        }
        last = CursorAt(job, filter.order);
      }
      if (static_cast<int>(jobs.size()) < filter.limit) return response;
      filter.after = last;
    }
    SetToken(*last, query, caller, response);
    return response;
  }

  // Returns the fields that all pages of a list have in common.
  static std::string QueryOf(const v1::ListJobsRequest& request) {
    v1::ListJobsRequest query;
    query.set_filter(request.filter());
    query.set_order_by(request.order_by());
    *query.mutable_states() = request.states();
    return query.SerializeAsString();
  }

  static void SetToken(JobCursor last, const std::string& query,
                       const Caller& caller, v1::ListJobsResponse& response) {
    last.id = JobNameFor(last.id, caller);
    response.set_next_page_token(PageTokenOf(last, query));
  }

  const JobServiceParts parts_;
  Mutex submit_mutex_;  // Guards no field: makes submissions take turns.
};

}  // namespace

std::unique_ptr<grpc::Service> CreateJobService(const JobServiceParts& parts) {
  return std::make_unique<JobService>(parts);
}

}  // namespace tangram
