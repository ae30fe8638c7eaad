#ifndef TANGRAM_COORDINATOR_JOBS_RETRY_TIMES_H_
#define TANGRAM_COORDINATOR_JOBS_RETRY_TIMES_H_

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

struct RetryTimesOptions {
  double first_s = 2;
  double apart_s = 0.05;
  double last_s = 60;
  // Returns the seconds of a clock that never goes back.
  std::function<double()> now_s;
};

// Tells callers that are refused, or jobs that wait, after what time to try
// again. Those of one tenant are told times one after another. So a thousand of
// them come back over 50 s, not all at once, and a place that becomes free is
// soon taken. Thread-safe.
class RetryTimes {
 public:
  explicit RetryTimes(RetryTimesOptions options)
      : options_(std::move(options)) {}

  // Returns seconds from now: first_s for the first of a tenant, apart_s more
  // for each next one. After last_s, times begin at first_s again.
  double NextDelayS(const std::string& tenant);

 private:
  const RetryTimesOptions options_;
  Mutex mutex_;
  // When the next one of a tenant should come back. Those that have passed are
  // forgotten when another tenant is noted.
  std::map<std::string, double> next_s_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_JOBS_RETRY_TIMES_H_
