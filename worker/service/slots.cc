#include "worker/service/slots.h"

#include <chrono>

namespace tangram {
namespace {

// Interval at which a wait checks whether it should stop: a cancel frees its
// slot within 1 s.
constexpr std::chrono::milliseconds kWaitInterval(50);

}  // namespace

bool Slots::Take(const std::function<bool()>& should_stop) {
  const MutexLock lock(mutex_);
  while (num_free_ == 0) {
    freed_.WaitFor(mutex_, kWaitInterval);
    if (should_stop()) return false;
  }
  --num_free_;
  return true;
}

void Slots::GiveBack() {
  {
    const MutexLock lock(mutex_);
    ++num_free_;
  }
  freed_.NotifyOne();
}

int Slots::num_taken() {
  const MutexLock lock(mutex_);
  return count_ - num_free_;
}

}  // namespace tangram
