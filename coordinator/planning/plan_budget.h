#ifndef TANGRAM_COORDINATOR_PLANNING_PLAN_BUDGET_H_
#define TANGRAM_COORDINATOR_PLANNING_PLAN_BUDGET_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/memory/memory_account.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// Limits on what one plan takes while it computes. 0: no limit.
struct PlanLimits {
  int64_t max_bytes = int64_t{2} << 30;
  double max_cpu_s = 3600;  // CPU time of its thread; pauses do not count.
};

// Ends a plan that takes more memory or time than it may, and nothing else of
// the process. A planner is pure and computes in one thread: it reaches what
// others share only through its observer and its sources of slice plans. So its
// memory is what its thread allocates outside of these, and an exception inside
// it leaves nothing half changed. Used by one thread.
class PlanBudget {
 public:
  explicit PlanBudget(const PlanLimits& limits);

  // Runs a planner with an observer that also stops it if it is over the
  // budget. Returns kResourceExhausted naming the limit in that case. May be
  // called several times; what was taken adds up.
  absl::StatusOr<PlanResult> Run(
      PlanObserver& observer,
      absl::FunctionRef<absl::StatusOr<PlanResult>(PlanObserver&)> plan);

  // Returns a source whose answers count towards the plan's memory. Calls of
  // `source` do not. `source` and the budget must outlive it.
  std::unique_ptr<SlicePlanSource> Charge(SlicePlanSource& source);

  int64_t peak_bytes() const { return account_.peak_bytes(); }

 private:
  class Observer;
  class Source;

  // OK: within the budget.
  absl::Status Check();

  const PlanLimits limits_;
  MemoryAccount account_;
  const double began_s_;      // By the steady clock.
  const double began_cpu_s_;  // By the clock of the thread.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNING_PLAN_BUDGET_H_
