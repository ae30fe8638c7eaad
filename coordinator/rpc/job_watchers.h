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

// Calls watchers when something happened to their job. One thread calls them
// one after the other, and rests after each for as long as it took. So
// watchers, however many, hardly delay other users of the store.
//
// Thread-safe.
class JobWatchers {
 public:
  // Looks at everything that has happened since the last look.
  using Look = std::function<void()>;

  JobWatchers();

  // Calls `look` once soon and after every notification, until the handle is
  // dropped. `look` may still be running then.
  std::shared_ptr<void> Watch(const std::string& job_id, Look look);

  void Notify(const std::string& job_id);
  // Notifies the watchers of all jobs, since other coordinators may have
  // changed any.
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
      ABSL_GUARDED_BY(mutex_);  // Each watcher at most once.
  std::jthread thread_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_JOB_WATCHERS_H_
