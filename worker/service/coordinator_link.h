#ifndef TANGRAM_WORKER_SERVICE_COORDINATOR_LINK_H_
#define TANGRAM_WORKER_SERVICE_COORDINATOR_LINK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/parallelizer/query.h"
#include "worker/service/slots.h"
#include "worker/service/worker.h"
#include "worker/service/worker_metrics.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace tangram {

// One stream to a coordinator, from hello to its end. Thread-safe.
class CoordinatorLink {
 public:
  // `address` is for people. All else must outlive the link.
  static std::unique_ptr<CoordinatorLink> Create(
      const std::string& address, const std::shared_ptr<grpc::Channel>& channel,
      const WorkerOptions& options, Slots& slots, WorkerMetrics& metrics);

  virtual ~CoordinatorLink() = default;

  // Works until the stream ends and says why. To be called once.
  virtual absl::Status Run() = 0;

  // Takes no more leases, hands back what has not begun, finishes the rest (or
  // hands it back after `timeout_s`), and ends the stream.
  virtual void Drain(double timeout_s) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_SERVICE_COORDINATOR_LINK_H_
