#ifndef TANGRAM_COORDINATOR_COORDINATOR_STATE_H_
#define TANGRAM_COORDINATOR_COORDINATOR_STATE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/metrics/metrics.h"
#include "coordinator/metrics/answer_store_metrics.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// The location of jobs and answers.
struct StatePlace {
  // Folder, created if it does not exist. Empty: both end with the process.
  std::string state_dir;
  // Database for both instead, shared with other coordinators, as for
  // OpenPostgresDatabase. Empty: none.
  std::string database;
  int64_t stored_answers_bytes = int64_t{1} << 30;
};

// State that outlives a coordinator.
struct CoordinatorState {
  std::unique_ptr<JobStore> jobs;
  std::string jobs_at;  // The file, or its name in messages.
  std::unique_ptr<AnswerStoreMetrics> answer_metrics;
  std::unique_ptr<AnswerStore> answers;  // Null: the pool's cache is enough.
};

// Returns the error for a damaged database of jobs.
absl::Status JobsAreDamaged(const std::string& jobs_at,
                            const absl::Status& reason);

// Opens both. Sets a damaged file of answers aside and starts with none; they
// are asked again. If that fails too, leaves `answers` null and says so in the
// log and a metric. Returns kDataLoss naming the file if the file of jobs is
// damaged, because only a backup can restore jobs. Returns kUnavailable if
// something cannot be used now.
absl::StatusOr<CoordinatorState> OpenState(const StatePlace& place,
                                           Metrics& metrics);

// Deletes all stored answers and returns their number. Returns kInvalidArgument
// if no place is given, and kUnavailable if a file is in use.
absl::StatusOr<int64_t> PurgeStoredAnswers(const StatePlace& place);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COORDINATOR_STATE_H_
