#ifndef TANGRAM_WORKER_SERVICE_WORKER_METRICS_H_
#define TANGRAM_WORKER_SERVICE_WORKER_METRICS_H_

#include <array>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/metrics/metrics.h"
#include "common/parallelizer/query.h"
#include "common/sync/mutex.h"

namespace tangram {

// A worker's metrics; docs/metrics.md lists them. Thread-safe.
class WorkerMetrics {
 public:
  explicit WorkerMetrics(Metrics& metrics);

  void OnAnswer(const std::string& adapter, const Query& query,
                const absl::Status& status, double seconds);
  // Adds `count` to the number of connected coordinators.
  void AddConnected(int count);
  void SetRunning(int running);

 private:
  // The series of an adapter, found once: short queries take hardly longer.
  struct Series {
    std::array<std::optional<BoundCounter>, 2> counts;  // By success.
    // By the kind of query.
    std::array<std::optional<BoundDurations>, std::variant_size_v<Query>>
        durations;
  };

  Counter queries_;
  DurationHistogram query_duration_;
  Gauge connected_;
  Mutex mutex_;
  std::map<std::string, Series> series_ ABSL_GUARDED_BY(mutex_);
  int num_connected_ ABSL_GUARDED_BY(mutex_) = 0;
  Gauge running_;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_SERVICE_WORKER_METRICS_H_
