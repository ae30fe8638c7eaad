#ifndef TANGRAM_COORDINATOR_PLANNING_PLAN_JOB_H_
#define TANGRAM_COORDINATOR_PLANNING_PLAN_JOB_H_

#include "coordinator/jobs/job_runner.h"
#include "coordinator/planning/recorded_plan.h"
#include "coordinator/tracing/trace_store.h"

namespace tangram {

// Returns the work of jobs whose request is a serialised
// tangram.v1.PlanRequest. Their result is a serialised tangram.v1.PlanFile.
// Keeps their traces in `traces` by job id. Until `max_wait_s` after its
// submission, a job waits for workers in the queue (BatchShare::may_wait).
// `parts` and `traces` must outlive the work.
JobWork PlanJobs(const PlanningParts& parts, TraceStore& traces,
                 double max_wait_s);

// Returns a serialised tangram.v1.PlanProgress that tells why a job waits.
std::string WaitingProgress(const absl::Status& why);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNING_PLAN_JOB_H_
