#include "worker/service/slots.h"

#include <chrono>

namespace tangram {
namespace {

constexpr std::chrono::milliseconds kPollInterval(50);

}  // namespace

bool Slots::Take(const std::function<bool()>& should_stop) {
  std::unique_lock lock(mutex_);
  while (num_free_ == 0) {
    freed_.wait_for(lock, kPollInterval);
    if (should_stop()) return false;
  }
  --num_free_;
  return true;
}

void Slots::GiveBack() {
  {
    const std::lock_guard lock(mutex_);
    ++num_free_;
  }
  freed_.notify_one();
}

int Slots::num_taken() {
  const std::lock_guard lock(mutex_);
  return count_ - num_free_;
}

}  // namespace tangram
