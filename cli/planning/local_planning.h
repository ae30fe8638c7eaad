#ifndef TANGRAM_CLI_PLANNING_LOCAL_PLANNING_H_
#define TANGRAM_CLI_PLANNING_LOCAL_PLANNING_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/planning/plan_monitor.h"
#include "common/planner/cluster_planner.h"
#include "common/security/channel.h"
#include "common/wire/plan_file.h"
#include "coordinator/planners/registry/planner_options.h"
#include "coordinator/planners/tangram/tangram_options.h"

namespace tangram {

// How to plan, in this process or on a coordinator.
struct PlanningSetup {
  std::string parallelizer;  // Names separated by commas, or "all".
  std::string planner;       // Empty: the default.
  PlannerOptionText planner_options;
  TangramOptions search;
  int num_threads = 0;            // In this process; 0: one per core.
  CoordinatorAccess coordinator;  // Without an address: this process.
  std::string job_id;             // Job of the coordinator; empty: one call.
  int priority = 0;               // Priority of the job.
};

// Plans with threads of this process. Returns kCancelled once `stop` says so.
// `tracer` may be null.
absl::StatusOr<PlanFile> PlanLocally(const PlanRequest& request,
                                     const PlanningSetup& setup,
                                     const StopCondition& stop,
                                     ProgressLine& line,
                                     PlanTracer* tracer = nullptr);

// Returns an upper bound of what planning `request` costs, with each
// parallelizer, as text for people. kInvalidArgument for a request beyond the
// limits of a plan.
absl::StatusOr<std::string> DescribeCost(const PlanRequest& request,
                                         const PlanningSetup& setup);

}  // namespace tangram

#endif  // TANGRAM_CLI_PLANNING_LOCAL_PLANNING_H_
