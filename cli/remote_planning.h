#ifndef TANGRAM_CLI_REMOTE_PLANNING_H_
#define TANGRAM_CLI_REMOTE_PLANNING_H_

#include "absl/status/statusor.h"
#include "cli/local_planning.h"

namespace tangram {

// Plans on the workers of setup.coordinator; otherwise as PlanLocally.
// kUnavailable if it cannot be reached or has no worker for the parallelizer.
absl::StatusOr<PlanFile> PlanRemotely(const PlanRequest& request,
                                      const PlanningSetup& setup,
                                      const StopCondition& stop,
                                      ProgressLine& line);

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_PLANNING_H_
