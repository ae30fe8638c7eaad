#ifndef TANGRAM_COORDINATOR_PLANNING_RECORDED_PLAN_H_
#define TANGRAM_COORDINATOR_PLANNING_RECORDED_PLAN_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/wire/plan_file.h"
#include "coordinator/dispatch/worker_pool.h"
#include "coordinator/metrics/service_metrics.h"
#include "coordinator/planners/tangram/estimate_cost.h"
#include "coordinator/planning/plan_request_wire.h"
#include "coordinator/planning/planning_monitor.h"

namespace tangram::v1 {
class PlanProgress;
}  // namespace tangram::v1

namespace tangram {

// What plans are made and counted with.
struct PlanningParts {
  WorkerPool& pool;
  ServiceMetrics& metrics;
  std::function<double()> now_s;
  CostLimits cost_limits;  // Orders beyond them are refused.
};

// Whom a plan is for, and how he is told.
struct PlanningClient {
  // In the log: "job" and its id, or "peer" and a caller's address.
  const char* kind = "peer";
  std::string name;
  PlanningMonitor::Report report;
  std::function<bool()> should_stop;
  // The error to return where planning was stopped.
  std::function<absl::Status()> why_stopped;
  PlanTracer* tracer = nullptr;  // Null: no trace.
  BatchShare share;
};

// RunPlan, in the log and in the metrics. kResourceExhausted, before anything
// is planned, for an order beyond the limits of `parts`.
absl::StatusOr<PlanFile> RunRecordedPlan(const PlanningParts& parts,
                                         const PlanOrder& order,
                                         const PlanningClient& client);

v1::PlanProgress ToProto(const PlanningProgress& progress, int num_workers);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNING_RECORDED_PLAN_H_
