#include "coordinator/rpc/tenant_service.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/obs/log.h"
#include "common/wire/grpc_status.h"
#include "coordinator/auth/call_gate.h"
#include "coordinator/rpc/job_wire.h"
#include "coordinator/rpc/received_message.h"
#include "tangram/v1/tenant_service.grpc.pb.h"

namespace tangram {
namespace {

// Jobs deleted in one transaction.
constexpr int kErasedAtOnce = 100;

absl::Status TooManyTenantCalls(TenantQuota& quota, const std::string& tenant) {
  return quota.Busy(tenant, "too many calls at once; ask again later");
}

// Returns the tenant that a call is about, if the caller may ask about it.
absl::StatusOr<std::string> TenantFor(const std::string& asked,
                                      const Caller& caller) {
  const std::string tenant = asked.empty() ? caller.tenant : asked;
  if (tenant == caller.tenant && !caller.roles.Has(Role::kOperate)) {
    return tenant;
  }
  if (!caller.roles.Has(Role::kOperate)) {
    return absl::PermissionDeniedError(
        absl::StrCat("tenant: \"", tenant, "\" is another one"));
  }
  // Without tokens, all jobs are of one tenant, which has no name.
  if (tenant.empty() && !caller.name.empty()) {
    return FieldError("tenant", "missing", "a name");
  }
  return tenant;
}

// Streams the jobs of a tenant, each read when the one before is written. gRPC
// owns it until OnDone.
class ExportCall : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  ExportCall(const TenantServiceParts& parts, Caller caller, std::string tenant)
      : parts_(parts),
        caller_(std::move(caller)),
        filter_{.tenant = std::move(tenant), .limit = 1} {}

  void Start() { ReadNext(); }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    ReadNext();
  }
  void OnDone() override { delete this; }

 private:
  void ReadNext() {
    const auto task = parts_.executor.Submit(caller_.tenant, [this] {
      absl::StatusOr<bool> has_next = Read();
      if (has_next.ok() && *has_next) return StartWrite(&record_);
      Finish(ToGrpc(has_next.status()));
    });
    if (!task.has_value()) {
      Finish(ToGrpc(TooManyTenantCalls(parts_.quota, caller_.tenant)));
    }
  }

  // Sets record_ to the next job. Returns false at the end.
  absl::StatusOr<bool> Read() {
    while (true) {
      TANGRAM_ASSIGN_OR_RETURN(const std::vector<Job> jobs,
                               parts_.store.List(filter_));
      if (jobs.empty()) return false;
      filter_.after = CursorAt(jobs[0], filter_.order);
      const absl::StatusOr<Job> job = parts_.store.Get(jobs[0].id);
      if (absl::IsNotFound(job.status())) continue;  // Deleted meanwhile.
      TANGRAM_RETURN_IF_ERROR(job.status());
      const auto events = parts_.store.EventsAfter(job->id, 0);
      v1::TenantRecord record;
      *record.mutable_job() = ToProto(*job, caller_);
      record.mutable_job()->mutable_request()->ParseFromString(job->request);
      if (events.ok()) {
        for (const JobEvent& event : *events) {
          record.add_progress()->ParseFromString(event.progress);
        }
      }
      record_ = SerializeMessage(record);
      return true;
    }
  }

  const TenantServiceParts& parts_;
  const Caller caller_;
  JobFilter filter_;
  grpc::ByteBuffer record_;
};

class RefusedExport : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit RefusedExport(const absl::Status& status) { Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

using RawTenants = v1::Tenants::WithRawCallbackMethod_GetTenantUsage<
    v1::Tenants::WithRawCallbackMethod_ExportTenant<
        v1::Tenants::WithRawCallbackMethod_EraseTenant<v1::Tenants::Service>>>;

class TenantService : public RawTenants {
 public:
  explicit TenantService(const TenantServiceParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* GetTenantUsage(
      grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
      grpc::ByteBuffer* response) override {
    return Answer<v1::GetTenantUsageRequest>(
        *context, *request, *response,
        [this](const std::string& tenant,
               const Caller&) -> absl::StatusOr<v1::TenantUsage> {
          TANGRAM_ASSIGN_OR_RETURN(const TenantUsage usage,
                                   parts_.store.Usage(tenant));
          const TenantLimits& limits = parts_.quota.limits();
          v1::TenantUsage message;
          message.set_tenant(tenant);
          message.set_unfinished_jobs(usage.unfinished_jobs);
          message.set_ended_jobs(usage.ended_jobs);
          message.set_stored_bytes(usage.bytes);
          message.set_max_unfinished_jobs(limits.max_unfinished_jobs);
          message.set_max_ended_jobs(limits.max_ended_jobs);
          message.set_max_stored_bytes(limits.max_stored_bytes);
          return message;
        });
  }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* ExportTenant(
      grpc::CallbackServerContext* context,
      const grpc::ByteBuffer* bytes) override {
    absl::StatusOr<Caller> caller = CallerOf(parts_.authenticator, *context);
    if (!caller.ok()) return new RefusedExport(caller.status());
    v1::ExportTenantRequest request;
    if (absl::Status bad = ParseSmallRequest(*bytes, request); !bad.ok()) {
      return new RefusedExport(bad);
    }
    absl::StatusOr<std::string> tenant = TenantFor(request.tenant(), *caller);
    if (!tenant.ok()) return new RefusedExport(tenant.status());
    Log(LogLevel::kInfo, "tenant exported",
        {{"tenant", *tenant}, {"caller", caller->name}});
    auto* call = new ExportCall(parts_, *std::move(caller), *std::move(tenant));
    call->Start();
    return call;
  }

  grpc::ServerUnaryReactor* EraseTenant(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override {
    return Answer<v1::EraseTenantRequest>(
        *context, *request, *response,
        [this](const std::string& tenant, const Caller& caller)
            -> absl::StatusOr<v1::EraseTenantResponse> {
          if (tenant.empty()) return FieldError("tenant", "missing", "a name");
          v1::EraseTenantResponse erased;
          int count = kErasedAtOnce;
          while (count == kErasedAtOnce) {
            TANGRAM_ASSIGN_OR_RETURN(count,
                                     parts_.store.Erase(tenant, kErasedAtOnce));
            erased.set_jobs(erased.jobs() + count);
          }
          parts_.on_erased(tenant);
          Log(LogLevel::kInfo, "tenant erased",
              {{"tenant", tenant},
               {"caller", caller.name},
               {"jobs", erased.jobs()}});
          return erased;
        });
  }

 private:
  // Runs `task` on the executor with the tenant that a request names, and
  // answers with what it returns.
  template <typename Request, typename Task>
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext& context,
                                   const grpc::ByteBuffer& bytes,
                                   grpc::ByteBuffer& response, Task task) {
    grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
    const auto refuse = [reactor](const absl::Status& status) {
      reactor->Finish(ToGrpc(status));
      return reactor;
    };
    Request request;
    absl::StatusOr<Caller> caller = CallerOf(parts_.authenticator, context);
    if (!caller.ok()) return refuse(caller.status());
    if (absl::Status bad = ParseSmallRequest(bytes, request); !bad.ok()) {
      return refuse(bad);
    }
    const absl::StatusOr<std::string> tenant =
        TenantFor(request.tenant(), *caller);
    if (!tenant.ok()) return refuse(tenant.status());
    const std::string key = caller->tenant;
    const auto job = parts_.executor.Submit(
        key, [reactor, &response, tenant = *tenant, caller = *std::move(caller),
              task = std::move(task)] {
          const auto answer = task(tenant, caller);
          if (answer.ok()) response = SerializeMessage(*answer);
          reactor->Finish(ToGrpc(answer.status()));
        });
    return job.has_value() ? reactor
                           : refuse(TooManyTenantCalls(parts_.quota, key));
  }

  const TenantServiceParts parts_;
};

}  // namespace

std::unique_ptr<grpc::Service> CreateTenantService(
    const TenantServiceParts& parts) {
  return std::make_unique<TenantService>(parts);
}

}  // namespace tangram
