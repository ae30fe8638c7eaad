#ifndef TANGRAM_COORDINATOR_PLANNING_RECORDED_PLAN_H_
#define TANGRAM_COORDINATOR_PLANNING_RECORDED_PLAN_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/wire/plan_file.h"
#include "coordinator/dispatch/plan_turns.h"
#include "coordinator/dispatch/worker_pool.h"
#include "coordinator/metrics/service_metrics.h"
#include "coordinator/planners/tangram/estimate_cost.h"
#include "coordinator/planning/plan_budget.h"
#include "coordinator/planning/plan_request_wire.h"
#include "coordinator/planning/planning_monitor.h"

namespace tangram::v1 {
class PlanProgress;
}  // namespace tangram::v1

namespace tangram {

// The parts of the coordinator that planning needs.
struct PlanningParts {
  WorkerPool& pool;
  ServiceMetrics& metrics;
  PlanTurns& turns;
  std::function<double()> now_s;
  CostLimits cost_limits;  // Orders beyond them are refused.
  PlanLimits limits;       // Plans beyond them are ended.
};

// The client that a plan is for, and how it learns of progress.
struct PlanningClient {
  // Key in log lines: "job" with the job's id as `name`, or "peer" with the
  // caller's address.
  const char* kind = "peer";
  std::string name;
  PlanningMonitor::Report report;
  std::function<bool()> should_stop;
  // Returns the error to report when planning was stopped.
  std::function<absl::Status()> why_stopped;
  PlanTracer* tracer = nullptr;  // Null: no trace.
  BatchShare share;
};

// Runs an order like RunPlan, and records it in the log and in the metrics.
// Returns kResourceExhausted before planning if the order exceeds cost_limits
// of `parts`, and later if the plan exceeds its limits. Takes the order, which
// may be large, so that the answer needs no copy of it.
absl::StatusOr<PlanFile> RunRecordedPlan(const PlanningParts& parts,
                                         PlanOrder order,
                                         const PlanningClient& client);

v1::PlanProgress ToProto(const PlanningProgress& progress, int num_workers);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNING_RECORDED_PLAN_H_
