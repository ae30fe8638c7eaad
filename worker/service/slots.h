#ifndef TANGRAM_WORKER_SERVICE_SLOTS_H_
#define TANGRAM_WORKER_SERVICE_SLOTS_H_

#include <functional>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

// Limits the queries that a worker runs at once, over all its coordinators.
// Thread-safe.
class Slots {
 public:
  explicit Slots(int count) : num_free_(count), count_(count) {}

  // Waits for a free slot. Returns false if `should_stop`, which is polled,
  // returns true first.
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
