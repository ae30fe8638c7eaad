#include "worker/service/query_runner.h"

#include <chrono>
#include <utility>

namespace tangram {
namespace {

const PairContext kNoContext;

}  // namespace

QueryRunner::QueryRunner(int num_threads, Slots& slots,
                         std::function<double()> now_s, OnAnswer on_answer)
    : slots_(slots),
      now_s_(std::move(now_s)),
      on_answer_(std::move(on_answer)) {
  for (int i = 0; i < num_threads; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

QueryRunner::~QueryRunner() {
  CancelAll();
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    work_available_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void QueryRunner::Submit(LeasedJob job) {
  const MutexLock lock(mutex_);
  waiting_.push_back({std::move(job), now_s_()});
  work_available_.NotifyOne();
}

// Waiting jobs are removed. Running ones see the flag at their next poll.
void QueryRunner::Cancel(const std::set<int64_t>& ids) {
  const MutexLock lock(mutex_);
  std::erase_if(waiting_,
                [&](const Waiting& w) { return ids.count(w.job.id) > 0; });
  for (Running& running : running_) {
    if (ids.count(running.job.id) > 0) running.is_cancelled = true;
  }
}

std::vector<int64_t> QueryRunner::TakeWaiting() {
  const MutexLock lock(mutex_);
  std::vector<int64_t> ids;
  for (const Waiting& waiting : waiting_) ids.push_back(waiting.job.id);
  waiting_.clear();
  return ids;
}

std::vector<int64_t> QueryRunner::CancelAll() {
  std::vector<int64_t> ids = TakeWaiting();
  const MutexLock lock(mutex_);
  for (Running& running : running_) {
    if (!running.is_cancelled.exchange(true)) ids.push_back(running.job.id);
  }
  return ids;
}

bool QueryRunner::WaitUntilIdle(double timeout_s) {
  const MutexLock lock(mutex_);
  return idle_.WaitFor(mutex_, std::chrono::duration<double>(timeout_s),
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                         return waiting_.empty() && running_.empty();
                       });
}

// Takes jobs in order of arrival. Ends when the runner is closed and none
// waits.
void QueryRunner::Work() {
  const MutexLock lock(mutex_);
  while (true) {
    while (!closed_ && waiting_.empty()) work_available_.Wait(mutex_);
    if (waiting_.empty()) return;
    const auto running = running_.emplace(running_.end());
    running->job = std::move(waiting_.front().job);
    const double since_s = waiting_.front().since_s;
    waiting_.pop_front();
    {
      const MutexUnlock unlock(mutex_);
      Run(*running, since_s);
    }
    running_.erase(running);
    if (waiting_.empty() && running_.empty()) idle_.NotifyAll();
  }
}

void QueryRunner::Run(Running& running, double since_s) {
  const auto is_cancelled = [&] { return running.is_cancelled.load(); };
  if (!slots_.Take(is_cancelled)) return;
  const LeasedJob& job = running.job;
  const double began_s = now_s_();
  absl::StatusOr<Answer> answer = AnswerQuery(
      *job.parallelizer, job.context == nullptr ? kNoContext : *job.context,
      job.query, is_cancelled);
  slots_.GiveBack();
  // A cancelled job has no answer. Setting the flag first decides which it is.
  if (!running.is_cancelled.exchange(true)) {
    on_answer_(job, std::move(answer),
               {.waited_s = began_s - since_s, .search_s = now_s_() - began_s});
  }
}

}  // namespace tangram
