#include "coordinator/dispatch/fair_executor.h"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace tangram {

FairExecutor::FairExecutor(FairExecutorOptions options)
    : options_(std::move(options)) {
  for (int i = 0; i < options_.num_places + options_.num_extra_places; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

FairExecutor::~FairExecutor() {
  Close();
  for (std::thread& thread : threads_) thread.join();
}

std::optional<FairExecutor::JobId> FairExecutor::Submit(
    const std::string& key, std::function<void()> job) {
  const MutexLock lock(mutex_);
  const auto [it, is_new] = keys_.try_emplace(key);
  // A key that comes back owes nothing for the time that it was away, and has
  // nothing to make up for.
  if (is_new && keys_.size() > 1) {
    const auto least = std::min_element(
        keys_.begin(), keys_.end(), [&](const auto& a, const auto& b) {
          return std::tuple(a.first == key, a.second.used_s) <
                 std::tuple(b.first == key, b.second.used_s);
        });
    it->second.used_s = least->second.used_s;
  }
  if (closed_ || !MayWait(it->second)) {
    ForgetIfIdle(it);
    return std::nullopt;
  }
  it->second.waiting.emplace_back(++last_id_, std::move(job));
  ++num_waiting_;
  changed_.NotifyAll();
  return last_id_;
}

bool FairExecutor::MayStart(const Key& key) const {
  if (key.num_running == 0) {
    return num_running_ < options_.num_places + options_.num_extra_places;
  }
  return key.num_running < options_.max_of_key &&
         num_running_ < options_.num_places;
}

// Jobs that may start at once do not count as waiting.
bool FairExecutor::MayWait(const Key& key) const {
  int num_starting = 0;
  for (const auto& [name, other] : keys_) {
    num_starting +=
        std::min(static_cast<int>(other.waiting.size()),
                 std::max(options_.max_of_key - other.num_running, 0));
  }
  const int own = static_cast<int>(key.waiting.size());
  const int room =
      options_.num_places + options_.num_extra_places - num_running_;
  if (own < options_.max_of_key - key.num_running && num_starting < room) {
    return true;
  }
  num_starting = std::min(num_starting, room);
  return num_waiting_ - num_starting < options_.max_waiting ||
         own < options_.max_waiting / static_cast<int>(keys_.size());
}

std::map<std::string, FairExecutor::Key>::iterator FairExecutor::Next() {
  auto next = keys_.end();
  const auto rank = [](const Key& key) {
    return std::tuple(key.num_running, key.used_s,
                      key.waiting.empty() ? 0 : key.waiting.front().first);
  };
  for (auto it = keys_.begin(); it != keys_.end(); ++it) {
    if (it->second.waiting.empty() || !MayStart(it->second)) continue;
    if (next == keys_.end() || rank(it->second) < rank(next->second)) next = it;
  }
  return next;
}

void FairExecutor::Run(std::map<std::string, Key>::iterator key) {
  std::function<void()> job = std::move(key->second.waiting.front().second);
  key->second.waiting.pop_front();
  --num_waiting_;
  ++num_running_;
  ++key->second.num_running;
  const double began_s = options_.now_s();
  {
    const MutexUnlock unlock(mutex_);
    job();
    job = nullptr;  // It may hold much memory.
  }
  key->second.used_s += options_.now_s() - began_s;
  --key->second.num_running;
  --num_running_;
  ForgetIfIdle(key);
  changed_.NotifyAll();
}

void FairExecutor::ForgetIfIdle(std::map<std::string, Key>::iterator key) {
  if (key->second.waiting.empty() && key->second.num_running == 0) {
    keys_.erase(key);
  }
}

void FairExecutor::Work() {
  const MutexLock lock(mutex_);
  while (true) {
    const auto next = Next();
    if (next != keys_.end()) {
      Run(next);
    } else if (closed_ && num_waiting_ == 0) {
      return;
    } else {
      changed_.Wait(mutex_);
    }
  }
}

bool FairExecutor::Remove(JobId job) {
  const MutexLock lock(mutex_);
  for (auto it = keys_.begin(); it != keys_.end(); ++it) {
    if (std::erase_if(it->second.waiting, [job](const auto& waiting) {
          return waiting.first == job;
        }) == 0) {
      continue;
    }
    --num_waiting_;
    ForgetIfIdle(it);
    changed_.NotifyAll();
    return true;
  }
  return false;
}

void FairExecutor::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  changed_.NotifyAll();
}

bool FairExecutor::WaitUntilIdle(double timeout_s) {
  const MutexLock lock(mutex_);
  return changed_.WaitFor(
      mutex_, std::chrono::duration<double>(timeout_s),
      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return IsIdle(); });
}

int FairExecutor::num_running() {
  const MutexLock lock(mutex_);
  return num_running_;
}

int FairExecutor::num_waiting() {
  const MutexLock lock(mutex_);
  return num_waiting_;
}

}  // namespace tangram
