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

// How to plan, wherever that happens.
struct PlanningSetup {
  std::string parallelizer;
  std::string planner;  // Empty: the default.
  PlannerOptionText planner_options;
  TangramOptions search;
  int num_threads = 0;            // Here; 0: one a core.
  CoordinatorAccess coordinator;  // Elsewhere, if it has an address.
  std::string job_id;             // There, as this job; empty: as a call.
  int priority = 0;               // Of the job.
};

// Plans with the threads of this process. kCancelled once `stop` says so.
absl::StatusOr<PlanFile> PlanLocally(const PlanRequest& request,
                                     const PlanningSetup& setup,
                                     const StopCondition& stop,
                                     ProgressLine& line,
                                     PlanTracer* tracer = nullptr);

// What planning `request` costs at most, with each parallelizer; for people.
// kInvalidArgument for a request beyond the limits of a plan.
absl::StatusOr<std::string> DescribeCost(const PlanRequest& request,
                                         const PlanningSetup& setup);

}  // namespace tangram

#endif  // TANGRAM_CLI_PLANNING_LOCAL_PLANNING_H_
