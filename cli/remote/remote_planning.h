#ifndef TANGRAM_CLI_REMOTE_REMOTE_PLANNING_H_
#define TANGRAM_CLI_REMOTE_REMOTE_PLANNING_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/planning/local_planning.h"
#include "tangram/v1/job_service.pb.h"
#include "tangram/v1/planner_service.pb.h"

namespace tangram {

// Plans on the workers of setup.coordinator: as a job if setup.job_id is set,
// else in one call. Returns the same plan as PlanLocally. kUnavailable if the
// coordinator cannot be reached or has no worker for the parallelizer.
absl::StatusOr<PlanFile> PlanRemotely(const PlanRequest& request,
                                      const PlanningSetup& setup,
                                      const StopCondition& stop,
                                      ProgressLine& line);

// Returns the request to a coordinator.
v1::PlanRequest PlanRequestToProto(const PlanRequest& request,
                                   const PlanningSetup& setup);

// Returns the request to a coordinator, a tangram.v1.PlanRequest, as JSON.
absl::StatusOr<std::string> PlanRequestToJson(const PlanRequest& request,
                                              const PlanningSetup& setup);

// Submits the request as job setup.job_id and does not wait for it.
absl::StatusOr<v1::Job> SubmitPlanJob(const PlanRequest& request,
                                      const PlanningSetup& setup,
                                      const StopCondition& stop);

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_REMOTE_PLANNING_H_
