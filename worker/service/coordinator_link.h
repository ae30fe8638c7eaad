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

// One stream to a coordinator, from its hello to its end. Thread-safe.
class CoordinatorLink {
 public:
  // `address` appears in logs. Everything else must outlive the link.
  static std::unique_ptr<CoordinatorLink> Create(
      const std::string& address, const std::shared_ptr<grpc::Channel>& channel,
      const WorkerOptions& options, Slots& slots, WorkerMetrics& metrics);

  virtual ~CoordinatorLink() = default;

  // Works until the stream ends, and returns the reason. Must be called once.
  virtual absl::Status Run() = 0;

  // Accepts no more leases, hands back leases that have not begun, finishes the
  // others, and ends the stream. Leases unfinished after `timeout_s` are handed
  // back.
  virtual void Drain(double timeout_s) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_SERVICE_COORDINATOR_LINK_H_
