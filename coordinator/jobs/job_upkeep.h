#ifndef TANGRAM_COORDINATOR_JOBS_JOB_UPKEEP_H_
#define TANGRAM_COORDINATOR_JOBS_JOB_UPKEEP_H_

#include <cstdint>
#include <functional>

#include "coordinator/store/job_store.h"

namespace tangram {

struct JobUpkeepOptions {
  double keep_s = 0;  // Time that jobs are kept after their end.
  // They are told how things are, about once a second.
  std::function<void(int)> on_waiting;              // Jobs that wait.
  std::function<void(double)> on_oldest_waiting_s;  // Age of the oldest.
  std::function<void(int)> on_deleted;              // Old jobs, at least one.
  // Jobs may be taken that could not be before.
  std::function<void()> on_due;
};

// Looks after a store once a second, whoever runs its jobs. A call that fails
// is made again the next time; the store counts it. Not thread-safe.
class JobUpkeep {
 public:
  // Jobs that wait are let try again at most so often.
  static constexpr double kLeastTryS = 5;

  // `store` must outlive this object.
  JobUpkeep(JobStore& store, JobUpkeepOptions options);

  // `num_arrivals` is WorkerPool::num_arrivals, and `now_s` the time by a clock
  // that never goes back.
  void Look(int64_t num_arrivals, double now_s);

 private:
  void LetJobsTryAgain(int64_t num_arrivals, double now_s);

  JobStore& store_;
  const JobUpkeepOptions options_;
  int64_t seen_arrivals_ = 0;
  int tries_left_ = 0;
  double let_try_s_ = -kLeastTryS;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_JOBS_JOB_UPKEEP_H_
