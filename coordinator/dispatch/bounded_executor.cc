#include "coordinator/dispatch/bounded_executor.h"

#include <algorithm>
#include <chrono>

namespace tangram {

BoundedExecutor::BoundedExecutor(int num_threads, int max_waiting)
    : max_waiting_(max_waiting) {
  for (int i = 0; i < num_threads; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

BoundedExecutor::~BoundedExecutor() {
  Close();
  for (std::thread& thread : threads_) thread.join();
}

std::optional<BoundedExecutor::JobId> BoundedExecutor::Submit(
    std::function<void()> job) {
  const MutexLock lock(mutex_);
  // Jobs for idle threads do not count as waiting.
  const size_t num_idle = threads_.size() - num_running_;
  if (closed_ || waiting_.size() >= max_waiting_ + num_idle) {
    return std::nullopt;
  }
  waiting_.emplace_back(++last_id_, std::move(job));
  work_available_.NotifyOne();
  return last_id_;
}

bool BoundedExecutor::Remove(JobId job) {
  const MutexLock lock(mutex_);
  const bool removed = std::erase_if(waiting_, [job](const auto& waiting) {
                         return waiting.first == job;
                       }) > 0;
  if (IsIdle()) idle_.NotifyAll();
  return removed;
}

void BoundedExecutor::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  work_available_.NotifyAll();
}

bool BoundedExecutor::WaitUntilIdle(double timeout_s) {
  const MutexLock lock(mutex_);
  return idle_.WaitFor(
      mutex_, std::chrono::duration<double>(timeout_s),
      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return IsIdle(); });
}

int BoundedExecutor::num_running() {
  const MutexLock lock(mutex_);
  return static_cast<int>(num_running_);
}

int BoundedExecutor::num_waiting() {
  const MutexLock lock(mutex_);
  return static_cast<int>(waiting_.size());
}

int64_t BoundedExecutor::num_ended() {
  const MutexLock lock(mutex_);
  return num_ended_;
}

void BoundedExecutor::Work() {
  const MutexLock lock(mutex_);
  while (true) {
    work_available_.Wait(mutex_,
                         [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                           return closed_ || !waiting_.empty();
                         });
    if (waiting_.empty()) return;
    std::function<void()> job = std::move(waiting_.front().second);
    waiting_.pop_front();
    ++num_running_;
    {
      const MutexUnlock unlock(mutex_);
      job();
      job = nullptr;  // It may hold much memory.
    }
    --num_running_;
    ++num_ended_;
    if (IsIdle()) idle_.NotifyAll();
  }
}

}  // namespace tangram
