#ifndef TANGRAM_COORDINATOR_PLANNING_RUN_PLAN_H_
#define TANGRAM_COORDINATOR_PLANNING_RUN_PLAN_H_

#include <functional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "common/wire/plan_file.h"
#include "coordinator/dispatch/remote_slice_plan_source.h"
#include "coordinator/dispatch/worker_pool.h"
#include "coordinator/planning/plan_budget.h"
#include "coordinator/planning/plan_request_wire.h"
#include "coordinator/planning/planning_monitor.h"

namespace tangram {

// Returns the adapters that plans for some framework may need: those of a
// complete fleet (WorkerPoolOptions::usual_adapters).
std::set<std::string> UsualAdapters();

// Plans one order with slice plans from the workers of `pool`, of which it gets
// its part of `share`. Errors: those of the planner; kUnavailable if no worker
// offers the parallelizer; kCancelled soon after `should_stop` returns true;
// kResourceExhausted if the plan exceeds `limits`.
// `log` may be null.
//
// If the workers of one version of a parallelizer fail and others offer another
// version, it plans again with that one: all slice plans of a parallelizer are
// of one version. If the order is for all parallelizers, one that fails in
// every version is left out. Notes of the result say so, and the result counts
// as truncated, because another run may differ.
absl::StatusOr<PlanFile> RunPlan(WorkerPool& pool, PlanOrder order,
                                 PlanningMonitor& monitor,
                                 const std::function<bool()>& should_stop,
                                 const PlanLimits& limits, QueryLog* log,
                                 const BatchShare& share,
                                 const WaitHooks& hooks = {});

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNING_RUN_PLAN_H_
