#ifndef TANGRAM_COORDINATOR_WEB_JOB_SUMMARIES_H_
#define TANGRAM_COORDINATOR_WEB_JOB_SUMMARIES_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/sync/mutex.h"
#include "coordinator/store/job_store.h"
#include "web/view/json.h"

namespace tangram {

// What the list of jobs says about a job beside its state: model, cluster,
// batch, and the answer. Lists hold neither requests nor results, so each job
// is read once for its request and once more when it has ended. Thread-safe.
class JobSummaries {
 public:
  // `jobs` must outlive this object.
  explicit JobSummaries(JobStore& jobs) : jobs_(jobs) {}

  // Returns an object with `model`, `cluster`, `num_gpus`,
  // `global_batch_size`, and once the job has succeeded `fits` and
  // `iteration_time_s` or `reason`. `job` is an entry of a list.
  absl::StatusOr<Json> Of(const Job& job);

 private:
  struct Summary {
    double submitted_s = 0;  // Another job may get the id later.
    double finished_s = 0;
    Json json;
  };

  JobStore& jobs_;
  Mutex mutex_;
  absl::flat_hash_map<std::string, Summary> summaries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_WEB_JOB_SUMMARIES_H_
