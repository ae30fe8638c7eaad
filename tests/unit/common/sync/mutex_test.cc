#include "common/sync/mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>
#include <vector>

namespace tangram {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class Gate {
 public:
  void Open() {
    const MutexLock lock(mutex_);
    is_open_ = true;
    changed_.NotifyAll();
    stoppable_.NotifyAll();
  }
  void Await() {
    const MutexLock lock(mutex_);
    while (!is_open_) changed_.Wait(mutex_);
  }
  void AwaitPredicate() {
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return is_open_;
    });
  }
  template <typename Duration>
  bool AwaitFor(Duration time) {
    const MutexLock lock(mutex_);
    return changed_.WaitFor(
        mutex_, time,
        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_open_; });
  }
  template <typename Duration>
  bool AwaitFor(Duration time, const std::stop_token& stop) {
    const MutexLock lock(mutex_);
    return stoppable_.WaitFor(
        mutex_, stop, time,
        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_open_; });
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  StoppableConditionVariable stoppable_;
  bool is_open_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(MutexTest, ThreadsThatCountLoseNoIncrement) {
  constexpr int kThreads = 4;
  constexpr int kIncrements = 10'000;
  Mutex mutex;
  int count = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < kIncrements; ++j) {
          const MutexLock lock(mutex);
          ++count;
        }
      });
    }
  }
  EXPECT_EQ(count, kThreads * kIncrements);
}

TEST(MutexTest, AScopeWithoutTheLockLetsAnotherThreadHoldIt) {
  Mutex mutex;
  bool was_held_by_other = false;
  const MutexLock lock(mutex);
  {
    const MutexUnlock unlock(mutex);
    std::jthread([&] {
      const MutexLock other(mutex);
      was_held_by_other = true;
    }).join();
  }
  EXPECT_TRUE(was_held_by_other);
}

TEST(ConditionVariableTest, AWaitEndsWithTheNotification) {
  Gate gate;
  std::jthread opener([&] { gate.Open(); });
  gate.Await();
  gate.AwaitPredicate();
  EXPECT_TRUE(gate.AwaitFor(hours(1)));
  EXPECT_TRUE(gate.AwaitFor(hours(1), std::stop_token()));
}

TEST(ConditionVariableTest, AWaitWhoseTimeHasPassedReturnsThePredicate) {
  Gate gate;
  EXPECT_FALSE(gate.AwaitFor(milliseconds(1)));
  EXPECT_FALSE(gate.AwaitFor(milliseconds(1), std::stop_token()));
}

TEST(ConditionVariableTest, AStopRequestEndsAWait) {
  Gate gate;
  std::atomic<bool> result = true;
  std::jthread waiter([&](const std::stop_token& stop) {
    result = gate.AwaitFor(hours(1), stop);
  });
  waiter.request_stop();
  waiter.join();
  EXPECT_FALSE(result);
}

TEST(ConditionVariableTest, TheMutexIsHeldAfterAWait) {
  Mutex mutex;
  ConditionVariable changed;
  bool is_held_elsewhere = false;
  std::jthread other;
  {
    const MutexLock lock(mutex);
    changed.WaitFor(mutex, milliseconds(1));
    other = std::jthread([&] {
      const MutexLock other_lock(mutex);
      is_held_elsewhere = true;
    });
    std::this_thread::yield();
    EXPECT_FALSE(is_held_elsewhere);
  }
  other.join();
  EXPECT_TRUE(is_held_elsewhere);
}

}  // namespace
}  // namespace tangram
