#include "cli/remote/tenant_calls.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <optional>

#include "cli/remote/coordinator_channel.h"
#include "cli/remote/stream_call.h"
#include "common/base/status_macros.h"
#include "tangram/v1/tenant_service.grpc.pb.h"

namespace tangram {
namespace {

// Erasing many large jobs takes a while.
constexpr std::chrono::minutes kTenantCallTimeout(10);

using TenantStub = v1::Tenants::Stub;

template <typename Request, typename Response>
absl::StatusOr<Response> CallTenants(
    const CoordinatorAccess& coordinator, const std::string& tenant,
    const StopCondition& stop,
    grpc::Status (TenantStub::*method)(grpc::ClientContext*, const Request&,
                                       Response*)) {
  TANGRAM_ASSIGN_OR_RETURN(const auto channel,
                           ConnectToCoordinator(coordinator, stop));
  const std::unique_ptr<TenantStub> stub = v1::Tenants::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kTenantCallTimeout);
  Request request;
  request.set_tenant(tenant);
  Response response;
  TANGRAM_RETURN_IF_ERROR(
      CallStatus((stub.get()->*method)(&context, request, &response)));
  return response;
}

}  // namespace

absl::StatusOr<v1::TenantUsage> GetTenantUsage(
    const CoordinatorAccess& coordinator, const std::string& tenant,
    const StopCondition& stop) {
  return CallTenants(coordinator, tenant, stop, &TenantStub::GetTenantUsage);
}

absl::Status ExportTenant(
    const CoordinatorAccess& coordinator, const std::string& tenant,
    const StopCondition& stop,
    absl::FunctionRef<absl::Status(const v1::TenantRecord&)> take) {
  TANGRAM_ASSIGN_OR_RETURN(const auto channel,
                           ConnectToCoordinator(coordinator, stop));
  const std::unique_ptr<TenantStub> stub = v1::Tenants::NewStub(channel);
  v1::ExportTenantRequest request;
  request.set_tenant(tenant);
  StreamCall<v1::TenantRecord> call(stop, [&](auto* context, auto* queue) {
    return stub->AsyncExportTenant(context, request, queue, /*tag=*/nullptr);
  });
  while (const std::optional<v1::TenantRecord> record = call.Next()) {
    TANGRAM_RETURN_IF_ERROR(take(*record));
  }
  return call.Finish();
}

absl::StatusOr<int64_t> EraseTenant(const CoordinatorAccess& coordinator,
                                    const std::string& tenant,
                                    const StopCondition& stop) {
  TANGRAM_ASSIGN_OR_RETURN(
      const v1::EraseTenantResponse erased,
      CallTenants(coordinator, tenant, stop, &TenantStub::EraseTenant));
  return erased.jobs();
}

}  // namespace tangram
