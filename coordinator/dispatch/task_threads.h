#ifndef TANGRAM_COORDINATOR_DISPATCH_TASK_THREADS_H_
#define TANGRAM_COORDINATOR_DISPATCH_TASK_THREADS_H_

#include <atomic>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/base/ordered_tasks.h"
#include "common/parallelizer/search_memory.h"
#include "common/sync/mutex.h"

namespace tangram {

// The threads of one plan: its callers and up to `num_threads` − 1 others.
// Whoever has work for others takes some of those that are free. Thread-safe.
class TaskThreads : public TaskRunner {
 public:
  explicit TaskThreads(int num_threads);

  // Takes up to `most` free threads, and returns their number.
  int TakeUpTo(int most);
  // Gives back threads that were taken, or that of a caller who waits.
  void GiveBack(int num_threads) { num_free_ += num_threads; }
  // Takes the thread of a caller who has waited, though none may be free.
  void Resume() { --num_free_; }

  // A place to keep things while a thread answers questions.
  struct Place {
    int number = 0;  // From 0 on; that of the thread, for people.
    SearchMemory memory;
  };
  // Returns a place that nobody else has. Parallelizers share what is kept.
  std::unique_ptr<Place> TakePlace();
  void GiveBack(std::unique_ptr<Place> place);

  // Tasks work on the caller's thread and on those that are free. Few begin
  // before their turn, as their work may be in vain.
  absl::Status Run(int count, MakeTask make) override;

 private:
  const int num_threads_;
  std::atomic<int> num_free_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Place>> places_ ABSL_GUARDED_BY(mutex_);
  int num_places_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_TASK_THREADS_H_
