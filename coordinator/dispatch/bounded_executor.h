#ifndef TANGRAM_COORDINATOR_DISPATCH_BOUNDED_EXECUTOR_H_
#define TANGRAM_COORDINATOR_DISPATCH_BOUNDED_EXECUTOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

// Runs jobs on a fixed number of threads and limits how many wait, so that an
// overload is reported to the caller at once. Thread-safe.
class BoundedExecutor {
 public:
  using JobId = int64_t;

  BoundedExecutor(int num_threads, int max_waiting);
  ~BoundedExecutor();  // Runs the waiting jobs first.

  // Returns the id of the job. Empty if too many jobs wait, or after Close.
  std::optional<JobId> Submit(std::function<void()> job);
  // Removes a waiting job. Returns false if it has begun or ended.
  bool Remove(JobId job);
  // Accepts no more jobs.
  void Close();
  // Returns false if jobs are left when the time is up.
  bool WaitUntilIdle(double timeout_s);

  int num_running();
  int num_waiting();
  int64_t num_ended();  // Jobs, since the start.

 private:
  void Work();
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return waiting_.empty() && num_running_ == 0;
  }

  const size_t max_waiting_;
  Mutex mutex_;
  ConditionVariable work_available_;
  ConditionVariable idle_;
  std::deque<std::pair<JobId, std::function<void()>>> waiting_
      ABSL_GUARDED_BY(mutex_);
  size_t num_running_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_ended_ ABSL_GUARDED_BY(mutex_) = 0;
  JobId last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_BOUNDED_EXECUTOR_H_
