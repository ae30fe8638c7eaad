#ifndef TANGRAM_COORDINATOR_RPC_RETRY_TIMES_H_
#define TANGRAM_COORDINATOR_RPC_RETRY_TIMES_H_

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

// Tells callers that are refused after what time to ask again. Those of one
// tenant are told times one after another, kApartS apart. So a thousand of them
// come back over 50 s, not all at once, and a place that becomes free is soon
// taken. Thread-safe.
class RetryTimes {
 public:
  static constexpr double kFirstS = 2;
  static constexpr double kApartS = 0.05;
  static constexpr double kLastS = 60;

  // `now_s` returns the seconds of a clock that never goes back.
  explicit RetryTimes(std::function<double()> now_s)
      : now_s_(std::move(now_s)) {}

  // Returns seconds from now: kFirstS for the first caller, later for the next
  // ones. After kLastS, times begin at kFirstS again.
  double NextDelayS(const std::string& tenant);

 private:
  const std::function<double()> now_s_;
  Mutex mutex_;
  // When the next caller of a tenant should come back. Those that have passed
  // are forgotten when another tenant is noted.
  std::map<std::string, double> next_s_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_RETRY_TIMES_H_
