#include "coordinator/service/job_watchers.h"

#include <utility>
#include <vector>

namespace tangram {
namespace {

using Watchers =
    std::multimap<std::string, std::weak_ptr<JobWatchers::OnChange>>;

// Those of a range that still watch; forgets the others.
std::vector<std::shared_ptr<JobWatchers::OnChange>> StillThere(
    Watchers& watchers, Watchers::iterator begin, Watchers::iterator end) {
  std::vector<std::shared_ptr<JobWatchers::OnChange>> there;
  while (begin != end) {
    if (auto watcher = begin->second.lock()) {
      there.push_back(std::move(watcher));
      ++begin;
    } else {
      begin = watchers.erase(begin);
    }
  }
  return there;
}

}  // namespace

std::shared_ptr<void> JobWatchers::Watch(const std::string& job_id,
                                         OnChange on_change) {
  auto watcher = std::make_shared<OnChange>(std::move(on_change));
  const std::lock_guard lock(mutex_);
  watchers_.emplace(job_id, watcher);
  return watcher;
}

void JobWatchers::Notify(const std::string& job_id) {
  std::unique_lock lock(mutex_);
  const auto [begin, end] = watchers_.equal_range(job_id);
  const auto there = StillThere(watchers_, begin, end);
  lock.unlock();
  for (const auto& on_change : there) (*on_change)();
}

void JobWatchers::NotifyAll() {
  std::unique_lock lock(mutex_);
  const auto there = StillThere(watchers_, watchers_.begin(), watchers_.end());
  lock.unlock();
  for (const auto& on_change : there) (*on_change)();
}

}  // namespace tangram
