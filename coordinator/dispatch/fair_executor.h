#ifndef TANGRAM_COORDINATOR_DISPATCH_FAIR_EXECUTOR_H_
#define TANGRAM_COORDINATOR_DISPATCH_FAIR_EXECUTOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

struct FairExecutorOptions {
  int max_of_key = 4;   // Jobs of one key that run at once.
  int num_places = 16;  // Jobs that run at once.
  // Further jobs, each of a key of which nothing runs.
  int num_extra_places = 16;
  // Jobs that wait. Beyond it, a key may still wait with its share of this.
  int max_waiting = 256;
  // Returns the seconds of a clock that never goes back.
  std::function<double()> now_s;
};

// Runs jobs on a fixed number of threads. The jobs of a key (a tenant) wait in
// one queue, in order. The next job is of the key of which the fewest run, and
// among these of the one whose jobs have taken the least time. So no key,
// however many jobs it has, keeps another waiting, or turns it away.
// Thread-safe.
class FairExecutor {
 public:
  using JobId = int64_t;

  explicit FairExecutor(FairExecutorOptions options);
  ~FairExecutor();  // Runs the waiting jobs first.

  // Returns the id of the job. Empty if too many jobs wait, or after Close.
  std::optional<JobId> Submit(const std::string& key,
                              std::function<void()> job);
  // Removes a waiting job. Returns false if it has begun or ended.
  bool Remove(JobId job);
  // Accepts no more jobs.
  void Close();
  // Returns false if jobs are left when the time is up.
  bool WaitUntilIdle(double timeout_s);

  int num_running();
  int num_waiting();

 private:
  struct Key {
    std::deque<std::pair<JobId, std::function<void()>>> waiting;
    int num_running = 0;
    double used_s = 0;  // Time that its ended jobs took.
  };

  void Work();
  bool MayStart(const Key& key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayWait(const Key& key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the key whose job is next; the end: none may start.
  std::map<std::string, Key>::iterator Next()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run(std::map<std::string, Key>::iterator key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetIfIdle(std::map<std::string, Key>::iterator key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return num_waiting_ == 0 && num_running_ == 0;
  }

  const FairExecutorOptions options_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::map<std::string, Key> keys_ ABSL_GUARDED_BY(mutex_);
  int num_waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_running_ ABSL_GUARDED_BY(mutex_) = 0;
  JobId last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_FAIR_EXECUTOR_H_
