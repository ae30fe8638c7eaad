#ifndef TANGRAM_COORDINATOR_COORDINATOR_STATE_H_
#define TANGRAM_COORDINATOR_COORDINATOR_STATE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/obs/metrics.h"
#include "coordinator/metrics/answer_store_metrics.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// Where jobs and answers are.
struct StatePlace {
  // A folder, made if there is none; empty: both end with the process.
  std::string state_dir;
  // Where both are instead, shared with other coordinators: what
  // OpenPostgresDatabase takes; empty: nowhere.
  std::string database;
  int64_t stored_answers_bytes = int64_t{1} << 30;
};

// What outlives a coordinator.
struct CoordinatorState {
  std::unique_ptr<JobStore> jobs;
  std::string jobs_at;  // The file, or what stands for it in messages.
  std::unique_ptr<AnswerStoreMetrics> answer_metrics;
  std::unique_ptr<AnswerStore> answers;  // Null: the pool's cache is enough.
};

// What to say of a database of jobs that is damaged.
absl::Status JobsAreDamaged(const std::string& jobs_at,
                            const absl::Status& reason);

// Opens both. A damaged file of answers is set aside, and there are none then:
// they are asked again. Of a damaged file of jobs the error, kDataLoss, names
// the file: nothing can bring jobs back but a backup. kUnavailable if something
// cannot be had now.
absl::StatusOr<CoordinatorState> OpenState(const StatePlace& place,
                                           Metrics& metrics);

// Deletes all stored answers and returns their number; kInvalidArgument without
// a place. A file must not be in use: kUnavailable.
absl::StatusOr<int64_t> PurgeStoredAnswers(const StatePlace& place);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COORDINATOR_STATE_H_
