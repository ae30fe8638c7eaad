#ifndef TANGRAM_CLI_REMOTE_REMOTE_PLANNING_H_
#define TANGRAM_CLI_REMOTE_REMOTE_PLANNING_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/planning/local_planning.h"
#include "tangram/v1/job_service.pb.h"

namespace tangram {

// Plans on the workers of setup.coordinator, as a job if it has an id;
// otherwise as PlanLocally. kUnavailable if it cannot be reached or has no
// worker for the parallelizer.
absl::StatusOr<PlanFile> PlanRemotely(const PlanRequest& request,
                                      const PlanningSetup& setup,
                                      const StopCondition& stop,
                                      ProgressLine& line);

// What a coordinator would be asked: a tangram.v1.PlanRequest as JSON.
absl::StatusOr<std::string> PlanRequestToJson(const PlanRequest& request,
                                              const PlanningSetup& setup);

// Leaves the plan to the coordinator: setup.job_id names it from then on.
absl::StatusOr<v1::Job> SubmitPlanJob(const PlanRequest& request,
                                      const PlanningSetup& setup,
                                      const StopCondition& stop);

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_REMOTE_PLANNING_H_
