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
  const std::lock_guard lock(mutex_);
  // Jobs for idle threads do not count as waiting.
  const size_t num_idle = threads_.size() - num_running_;
  if (closed_ || waiting_.size() >= max_waiting_ + num_idle) {
    return std::nullopt;
  }
  waiting_.emplace_back(++last_id_, std::move(job));
  work_available_.notify_one();
  return last_id_;
}

bool BoundedExecutor::Remove(JobId job) {
  const std::lock_guard lock(mutex_);
  const bool removed = std::erase_if(waiting_, [job](const auto& waiting) {
                         return waiting.first == job;
                       }) > 0;
  if (IsIdle()) idle_.notify_all();
  return removed;
}

void BoundedExecutor::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  work_available_.notify_all();
}

bool BoundedExecutor::WaitUntilIdle(double timeout_s) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, std::chrono::duration<double>(timeout_s),
                        [this] { return IsIdle(); });
}

int BoundedExecutor::num_running() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(num_running_);
}

int BoundedExecutor::num_waiting() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(waiting_.size());
}

void BoundedExecutor::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_available_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> job = std::move(waiting_.front().second);
    waiting_.pop_front();
    ++num_running_;
    lock.unlock();
    job();
    lock.lock();
    --num_running_;
    if (IsIdle()) idle_.notify_all();
  }
}

}  // namespace tangram
