#ifndef TANGRAM_COORDINATOR_RPC_TENANT_SERVICE_H_
#define TANGRAM_COORDINATOR_RPC_TENANT_SERVICE_H_

#include <functional>
#include <memory>
#include <string>

#include "coordinator/auth/authenticator.h"
#include "coordinator/dispatch/fair_executor.h"
#include "coordinator/rpc/tenant_quota.h"
#include "coordinator/store/job_store.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace tangram {

// The parts that calls about tenants need. All must outlive the service.
struct TenantServiceParts {
  JobStore& store;
  FairExecutor& executor;  // Runs the calls that use the store.
  Authenticator& authenticator;
  TenantQuota& quota;
  // Called when the jobs of a tenant were deleted.
  std::function<void(const std::string& tenant)> on_erased;
};

// Creates the service of proto/tangram/v1/tenant_service.proto.
std::unique_ptr<grpc::Service> CreateTenantService(
    const TenantServiceParts& parts);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_TENANT_SERVICE_H_
