#ifndef TANGRAM_COORDINATOR_DISPATCH_BOUNDED_EXECUTOR_H_
#define TANGRAM_COORDINATOR_DISPATCH_BOUNDED_EXECUTOR_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

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

 private:
  void Work();
  bool IsIdle() const { return waiting_.empty() && num_running_ == 0; }

  const size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable work_available_;
  std::condition_variable idle_;
  std::deque<std::pair<JobId, std::function<void()>>> waiting_;
  size_t num_running_ = 0;
  JobId last_id_ = 0;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_BOUNDED_EXECUTOR_H_
