#include "coordinator/rpc/job_watchers.h"

#include <chrono>
#include <utility>

namespace tangram {

JobWatchers::JobWatchers()
    : thread_([this](const std::stop_token& stop) { Run(stop); }) {}

std::shared_ptr<void> JobWatchers::Watch(const std::string& job_id, Look look) {
  auto watcher = std::make_shared<Watcher>(Watcher{.look = std::move(look)});
  const MutexLock lock(mutex_);
  watchers_.emplace(job_id, watcher);
  SetDue(watcher);
  return watcher;
}

void JobWatchers::Notify(const std::string& job_id) {
  const MutexLock lock(mutex_);
  const auto [begin, end] = watchers_.equal_range(job_id);
  SetDue(begin, end);
}

void JobWatchers::NotifyAll() {
  const MutexLock lock(mutex_);
  SetDue(watchers_.begin(), watchers_.end());
}

void JobWatchers::SetDue(const std::shared_ptr<Watcher>& watcher) {
  if (std::exchange(watcher->is_due, true)) return;
  due_.push_back(watcher);
  wake_.NotifyOne();
}

// Marks the watchers in a range as due, and removes those whose handle was
// dropped.
void JobWatchers::SetDue(Watchers::iterator begin, Watchers::iterator end) {
  while (begin != end) {
    if (const auto watcher = begin->second.lock()) {
      SetDue(watcher);
      ++begin;
    } else {
      begin = watchers_.erase(begin);
    }
  }
}

void JobWatchers::Run(const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  while (wake_.Wait(mutex_, stop,
                    [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                      return !due_.empty();
                    }) &&
         !stop.stop_requested()) {
    auto watcher = due_.front().lock();
    due_.pop_front();
    if (watcher == nullptr) continue;
    watcher->is_due = false;
    std::chrono::steady_clock::duration took;
    {
      const MutexUnlock unlock(mutex_);
      const auto began = std::chrono::steady_clock::now();
      watcher->look();
      // Dropped without the lock: this may be the last reference.
      watcher.reset();
      took = std::chrono::steady_clock::now() - began;
    }
    // Leaves the store free for other callers as long as the look took.
    wake_.WaitFor(mutex_, stop, took, [] { return false; });
  }
}

}  // namespace tangram
