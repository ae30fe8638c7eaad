#ifndef TANGRAM_COORDINATOR_RPC_PLANNER_SERVICE_H_
#define TANGRAM_COORDINATOR_RPC_PLANNER_SERVICE_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "coordinator/auth/authenticator.h"
#include "coordinator/dispatch/fair_executor.h"
#include "coordinator/dispatch/plan_turns.h"
#include "coordinator/dispatch/worker_pool.h"
#include "coordinator/metrics/service_metrics.h"
#include "coordinator/planning/plan_cache.h"
#include "coordinator/planning/recorded_plan.h"
#include "coordinator/rpc/memory_budget.h"
#include "coordinator/rpc/tenant_quota.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace tangram {

// The parts that planning calls need. All must outlive the service.
struct PlannerServiceParts {
  WorkerPool& pool;
  FairExecutor& executor;  // Runs the planners.
  ServiceMetrics& metrics;
  PlanCache& cache;
  std::function<double()> now_s;
  std::function<bool()> is_draining;  // If true, refuses new plans.
  std::function<bool()> must_stop;    // If true, ends running plans.
  Authenticator& authenticator;
  TenantQuota& quota;
  PlanTurns& turns;
  MemoryBudget& budget;  // Memory of requests, from their arrival to their end.
  bool share_answers = false;  // Shares answers among tenants.
  CostLimits cost_limits;
  double max_plan_s = 0;  // A call that plans for longer fails; 0: no limit.
  PlanLimits limits;
};

// Creates the service that clients call
// (proto/tangram/v1/planner_service.proto).
std::unique_ptr<grpc::Service> CreatePlannerService(
    const PlannerServiceParts& parts);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_PLANNER_SERVICE_H_
