#include "coordinator/dispatch/task_threads.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {
namespace {

// A task at work.
struct Running : TaskTurn {
  explicit Running(std::unique_ptr<OrderedTask> made) : task(std::move(made)) {}
  bool ShouldStop() const override { return should_stop; }
  bool IsNext() const override { return is_next; }

  const std::unique_ptr<OrderedTask> task;
  std::atomic<bool> should_stop = false;
  std::atomic<bool> is_next = false;
  bool is_done = false;
};

// One call of TaskThreads::Run.
class Tasks {
 public:
  Tasks(TaskThreads& threads, int most_ahead, int count, MakeTask make)
      : threads_(threads),
        most_ahead_(most_ahead),
        count_(count),
        make_(make),
        running_(count) {}

  absl::Status Run() {
    mutex_.lock();
    while (true) {
      WorkOn();
      if (IsOver()) break;
      threads_.GiveBack(1);
      while (!IsOver() && NextToBegin() == count_) changed_.Wait(mutex_);
      threads_.Resume();
    }
    changed_.NotifyAll();
    std::vector<std::jthread> helpers = std::move(helpers_);
    const absl::Status status = status_;
    mutex_.unlock();
    helpers.clear();  // Joins.
    return status;
  }

 private:
  // Works on tasks with a thread that was taken, and waits without it while
  // none may begin.
  void Help() {
    mutex_.lock();
    while (true) {
      WorkOn();
      threads_.GiveBack(1);
      ++num_waiting_;
      while (!IsOver() &&
             (NextToBegin() == count_ || threads_.TakeUpTo(1) == 0)) {
        changed_.Wait(mutex_);
      }
      --num_waiting_;
      if (IsOver()) break;
    }
    mutex_.unlock();
  }

  // Takes results and works on tasks until none may begin.
  void WorkOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (true) {
      TakeResults();
      if (IsOver()) return;
      const int i = NextToBegin();
      if (i == count_) return;
      const auto running = std::make_shared<Running>(make_(i));
      running->is_next = i == next_;
      running_[i] = running;
      CallHelper();
      {
        const MutexUnlock unlock(mutex_);
        running->task->Work(*running);
      }
      running->is_done = true;
    }
  }

  bool IsOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return next_ == count_ || !status_.ok();
  }

  // Takes the results whose turn it is. Those that have become stale are
  // dropped, also while their tasks are at work.
  void TakeResults() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!IsOver() && running_[next_] != nullptr &&
           running_[next_]->is_done) {
      status_ = running_[next_]->task->Take();
      running_[next_++].reset();
      for (int i = next_; i < std::min(count_, next_ + most_ahead_); ++i) {
        if (running_[i] == nullptr) continue;
        if (!status_.ok() || running_[i]->task->IsStale()) {
          running_[i]->should_stop = true;
          running_[i].reset();
        } else if (i == next_) {
          running_[i]->is_next = true;
        }
      }
      changed_.NotifyAll();
    }
  }

  // Returns the first task that may begin; count_ if there is none.
  int NextToBegin() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (int i = next_; i < std::min(count_, next_ + most_ahead_); ++i) {
      if (running_[i] == nullptr) return i;
    }
    return count_;
  }

  void CallHelper() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (NextToBegin() == count_) return;
    if (num_waiting_ > 0) {
      changed_.NotifyAll();
    } else if (threads_.TakeUpTo(1) > 0) {
      helpers_.emplace_back([this] { Help(); });
    }
  }

  TaskThreads& threads_;
  const int most_ahead_;
  const int count_;
  const MakeTask make_;
  Mutex mutex_;
  ConditionVariable changed_;
  int next_ ABSL_GUARDED_BY(mutex_) = 0;  // The next result to take.
  // Tasks that work or are done. Null: not begun, or stale.
  std::vector<std::shared_ptr<Running>> running_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::jthread> helpers_ ABSL_GUARDED_BY(mutex_);
  int num_waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // Helpers.
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

TaskThreads::TaskThreads(int num_threads)
    : num_threads_(num_threads), num_free_(std::max(0, num_threads - 1)) {}

int TaskThreads::TakeUpTo(int most) {
  int num_free = num_free_;
  while (true) {
    const int taken = std::max(0, std::min(most, num_free));
    if (num_free_.compare_exchange_weak(num_free, num_free - taken)) {
      return taken;
    }
  }
}

std::unique_ptr<TaskThreads::Place> TaskThreads::TakePlace() {
  const MutexLock lock(mutex_);
  if (places_.empty()) {
    places_.push_back(std::make_unique<Place>());
    places_.back()->number = num_places_++;
  }
  std::unique_ptr<Place> place = std::move(places_.back());
  places_.pop_back();
  return place;
}

void TaskThreads::GiveBack(std::unique_ptr<Place> place) {
  const MutexLock lock(mutex_);
  places_.push_back(std::move(place));
}

absl::Status TaskThreads::Run(int count, MakeTask make) {
  return Tasks(*this, num_threads_ + 1, count, make).Run();
}

}  // namespace tangram
