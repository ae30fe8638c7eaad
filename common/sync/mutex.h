#ifndef TANGRAM_COMMON_SYNC_MUTEX_H_
#define TANGRAM_COMMON_SYNC_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "absl/base/thread_annotations.h"

// Abseil's ABSL_UNLOCK_FUNCTION does not say how the mutex was held, so clang
// could not lock it again at the end of a MutexUnlock.
#ifdef __clang__
#define TANGRAM_EXCLUSIVE_UNLOCK_FUNCTION(mutex) \
  __attribute__((release_capability(mutex)))
#else
#define TANGRAM_EXCLUSIVE_UNLOCK_FUNCTION(mutex)
#endif

namespace tangram {

// std::mutex and std::condition_variable with the annotations that clang's
// -Wthread-safety reads
// (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html). absl::Mutex has them
// too, but ThreadSanitizer reports false races in Debian's build of it.
//
//   int Count() {
//     const MutexLock lock(mutex_);
//     return count_;
//   }
//   Mutex mutex_;
//   int count_ ABSL_GUARDED_BY(mutex_) = 0;
class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Blocks until no other thread holds the mutex. Prefer MutexLock. The names
  // are those that the standard library's lock types call.
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
};

// Holds a mutex until the end of the scope.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Releases a mutex, which the thread must hold, until the end of the scope.
class ABSL_SCOPED_LOCKABLE MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) TANGRAM_EXCLUSIVE_UNLOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_.unlock();
  }
  // "Unlock" ends the scope, which for this class locks the mutex.
  ~MutexUnlock() ABSL_UNLOCK_FUNCTION() { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

// Lets threads that hold a Mutex wait for one another. Timeouts run by the
// steady clock. Predicates run with the mutex held. The analysis must be told:
// `[this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_done_; }`.
class ConditionVariable {
 public:
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

  // Blocks until notified. May return without notification.
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Adopted held(mutex);
    changed_.wait(held.lock);
  }

  // Blocks until `predicate` is true.
  template <typename Predicate>
  void Wait(Mutex& mutex, Predicate predicate)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Adopted held(mutex);
    changed_.wait(held.lock, predicate);
  }

  // Blocks until notified or `time` has passed. May return sooner.
  template <typename Rep, typename Period>
  void WaitFor(Mutex& mutex, std::chrono::duration<Rep, Period> time)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Adopted held(mutex);
    changed_.wait_for(held.lock, time);
  }

  // Blocks until `predicate` is true or `time` has passed. Returns `predicate`.
  template <typename Rep, typename Period, typename Predicate>
  bool WaitFor(Mutex& mutex, std::chrono::duration<Rep, Period> time,
               Predicate predicate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Adopted held(mutex);
    return changed_.wait_for(held.lock, time, predicate);
  }

 private:
  // Lends a mutex, held before and after, as the std::unique_lock that
  // std::condition_variable needs.
  struct Adopted {
    explicit Adopted(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) {}
    ~Adopted() { lock.release(); }
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable changed_;
};

// A ConditionVariable whose waits a std::stop_token can end. Costs one more
// mutex.
class StoppableConditionVariable {
 public:
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

  // Blocks until `predicate` is true or `stop` is requested. Returns
  // `predicate`.
  template <typename Predicate>
  bool Wait(Mutex& mutex, const std::stop_token& stop, Predicate predicate)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return changed_.wait(mutex, stop, predicate);
  }

  // Blocks until `predicate` is true, `time` has passed or `stop` is requested.
  // Returns `predicate`.
  template <typename Rep, typename Period, typename Predicate>
  bool WaitFor(Mutex& mutex, const std::stop_token& stop,
               std::chrono::duration<Rep, Period> time, Predicate predicate)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return changed_.wait_for(mutex, stop, time, predicate);
  }

 private:
  std::condition_variable_any changed_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_SYNC_MUTEX_H_
