#ifndef TANGRAM_COORDINATOR_RPC_JOB_WATCHERS_H_
#define TANGRAM_COORDINATOR_RPC_JOB_WATCHERS_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

// Who looks when something happened to a job: one after the other, on a thread
// of their own that rests as long as it looks, so that however many there are,
// they hold up others little.
// Thread-safe.
class JobWatchers {
 public:
  // What happened until it is called is one thing to look at.
  using Look = std::function<void()>;

  JobWatchers();

  // Looks once soon, and whenever told, until the handle is dropped, after
  // which `look` may still be running.
  std::shared_ptr<void> Watch(const std::string& job_id, Look look);

  void Notify(const std::string& job_id);
  // Of all jobs: another coordinator may have done something.
  void NotifyAll();

 private:
  struct Watcher {
    Look look;
    // Guarded by mutex_.
    bool is_due = false;
  };
  using Watchers = std::multimap<std::string, std::weak_ptr<Watcher>>;

  void SetDue(const std::shared_ptr<Watcher>& watcher)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetDue(Watchers::iterator begin, Watchers::iterator end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run(const std::stop_token& stop);

  Mutex mutex_;
  StoppableConditionVariable wake_;
  Watchers watchers_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::weak_ptr<Watcher>> due_
      ABSL_GUARDED_BY(mutex_);  // Each once.
  std::jthread thread_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_JOB_WATCHERS_H_
