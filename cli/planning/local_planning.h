#ifndef TANGRAM_CLI_PLANNING_LOCAL_PLANNING_H_
#define TANGRAM_CLI_PLANNING_LOCAL_PLANNING_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "cli/args/job_settings.h"
#include "cli/args/options.h"
#include "cli/planning/plan_monitor.h"
#include "common/planner/cluster_planner.h"
#include "common/security/channel.h"
#include "common/sync/mutex.h"
#include "common/wire/plan_file.h"
#include "coordinator/dispatch/caching_slice_plan_source.h"
#include "coordinator/frontier/stage_times_memo.h"
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
  JobSettings job;
  bool skip_cache = false;  // The coordinator plans again.
};

// Returns the setup that the options ask for. Errors: kInvalidArgument for an
// option of the planner without a value, or given twice.
absl::StatusOr<PlanningSetup> PlanningSetupOf(const PlanOptions& options);

// Returns the number of threads that plan in this process, at least 1.
int NumThreads(const PlanningSetup& setup);

// Slice plans of each parallelizer, and times of their stages, that several
// planners of this process share. Their requests are for one model and for
// allocations of one cluster. Thread-safe.
class SharedSlicePlans {
 public:
  // Returns those of the parallelizer called `name`.
  std::shared_ptr<SharedAnswers> Of(const std::string& name);
  SharedStageTimes& times() { return *times_; }
  // Slice plans that were asked for because they were not known.
  int64_t num_asked();

 private:
  const std::unique_ptr<SharedStageTimes> times_ = CreateStageTimesMemo();
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<SharedAnswers>> by_name_
      ABSL_GUARDED_BY(mutex_);
};

// Plans with threads of this process. Returns kCancelled once `stop` says so.
// `tracer` and `shared` may be null. Several threads may plan at once with the
// same `shared`; answers do not depend on it.
absl::StatusOr<PlanFile> PlanLocally(const PlanRequest& request,
                                     const PlanningSetup& setup,
                                     const StopCondition& stop,
                                     ProgressLine& line,
                                     PlanTracer* tracer = nullptr,
                                     SharedSlicePlans* shared = nullptr);

}  // namespace tangram

#endif  // TANGRAM_CLI_PLANNING_LOCAL_PLANNING_H_
