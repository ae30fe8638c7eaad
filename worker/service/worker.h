#ifndef TANGRAM_WORKER_SERVICE_WORKER_H_
#define TANGRAM_WORKER_SERVICE_WORKER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/obs/metrics.h"
#include "common/parallelizer/parallelizer.h"
#include "common/security/channel.h"

namespace tangram {

struct WorkerOptions {
  std::vector<CoordinatorAccess> coordinators;
  std::string name;     // For people.
  int num_threads = 1;  // Queries at once, of all coordinators together.
  std::vector<std::unique_ptr<Parallelizer>> parallelizers;
  // How often it says that it lives.
  double heartbeat_s = 15;
  // A coordinator that was not heard of for longer is left and dialled anew.
  double silence_limit_s = 25;
  // When leaving, how long the coordinator may take to end the stream.
  double goodbye_s = 5;
  // Between attempts to connect, doubling.
  double min_backoff_s = 0.2;
  double max_backoff_s = 5;
};

// The worker daemon without its process: dials every coordinator, answers their
// queries, and dials again whenever a stream ends.
class Worker {
 public:
  // Starts at once. kInvalidArgument if the name or the files for a coordinator
  // are at fault. `metrics` must outlive the worker.
  static absl::StatusOr<std::unique_ptr<Worker>> Start(WorkerOptions options,
                                                       Metrics& metrics);

  virtual ~Worker() = default;  // Drain(0).

  // Finishes the queries that have begun, hands back the others (and all of
  // them after `timeout_s`), and leaves. Returns when that is done.
  virtual void Drain(double timeout_s) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_SERVICE_WORKER_H_
