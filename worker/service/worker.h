#ifndef TANGRAM_WORKER_SERVICE_WORKER_H_
#define TANGRAM_WORKER_SERVICE_WORKER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/heartbeat.h"
#include "common/metrics/metrics.h"
#include "common/parallelizer/parallelizer.h"
#include "common/security/channel.h"

namespace tangram {

// The settings of a worker.
struct WorkerOptions {
  std::vector<CoordinatorAccess> coordinators;
  std::string name;     // Appears in logs.
  int num_threads = 1;  // Queries run at once, over all coordinators.
  std::vector<std::unique_ptr<Parallelizer>> parallelizers;
  // Interval of messages that tell the coordinator that the worker lives,
  // unless the coordinator allows a longer one.
  double heartbeat_s = kHeartbeatS;
  // A coordinator that leaves a message without an answer for longer is
  // disconnected and dialled again.
  double silence_limit_s = kHeartbeatS + kMaxDelayS;
  // Limit on the wait for the coordinator to end the stream when the worker
  // leaves.
  double goodbye_s = 5;
  // Pauses between attempts to connect; each is twice the one before.
  double min_backoff_s = 0.2;
  double max_backoff_s = 5;
};

// The worker daemon without its process. Dials every coordinator, answers their
// queries, and dials again when a stream ends.
class Worker {
 public:
  // Starts at once. Returns kInvalidArgument if the name or a coordinator's
  // files are at fault. `metrics` must outlive the worker.
  static absl::StatusOr<std::unique_ptr<Worker>> Start(WorkerOptions options,
                                                       Metrics& metrics);

  virtual ~Worker() = default;  // Calls Drain(0).

  // Finishes the queries that have begun and hands back the others; after
  // `timeout_s`, hands back all. Then leaves and returns.
  virtual void Drain(double timeout_s) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_SERVICE_WORKER_H_
