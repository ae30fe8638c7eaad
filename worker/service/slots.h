#ifndef TANGRAM_WORKER_SERVICE_SLOTS_H_
#define TANGRAM_WORKER_SERVICE_SLOTS_H_

#include <functional>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

// The queries that a worker may run at once, whichever of its coordinators they
// are from. Thread-safe.
class Slots {
 public:
  explicit Slots(int count) : num_free_(count), count_(count) {}

  // Waits for a free one. False if `should_stop`, which is polled, says so
  // first.
  bool Take(const std::function<bool()>& should_stop);
  void GiveBack();
  int num_taken();

 private:
  Mutex mutex_;
  ConditionVariable freed_;
  int num_free_ ABSL_GUARDED_BY(mutex_);
  const int count_;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_SERVICE_SLOTS_H_
