#ifndef TANGRAM_COORDINATOR_RPC_JOB_SERVICE_H_
#define TANGRAM_COORDINATOR_RPC_JOB_SERVICE_H_

#include <functional>
#include <memory>

#include "coordinator/auth/authenticator.h"
#include "coordinator/dispatch/fair_executor.h"
#include "coordinator/rpc/job_watchers.h"
#include "coordinator/rpc/job_wire.h"
#include "coordinator/rpc/memory_budget.h"
#include "coordinator/rpc/tenant_quota.h"
#include "coordinator/store/job_store.h"
#include "coordinator/tracing/trace_store.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace tangram {

// The parts that job calls need. All must outlive the service.
struct JobServiceParts {
  JobStore& store;
  JobWatchers& watchers;
  TraceStore& traces;
  FairExecutor& executor;  // Runs the calls that use the store.
  // Called when a job was submitted or cancelled.
  std::function<void()> on_changed;
  Authenticator& authenticator;
  TenantQuota& quota;
  MemoryBudget& budget;  // Memory of requests while they are submitted.
  WebhookRules webhooks;
  std::function<double()> now_s;       // Never goes back.
  std::function<double()> unix_now_s;  // Since 1970.
  // Called when a job of a tenant was refused.
  std::function<void(const std::string& tenant, const char* reason)> on_refused;
};

// Creates the service of proto/tangram/v1/job_service.proto. Callers see the
// jobs of their tenant; operators see all.
std::unique_ptr<grpc::Service> CreateJobService(const JobServiceParts& parts);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_JOB_SERVICE_H_
