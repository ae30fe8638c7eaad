#ifndef TANGRAM_COORDINATOR_RPC_HEALTH_SERVICE_H_
#define TANGRAM_COORDINATOR_RPC_HEALTH_SERVICE_H_

#include <grpcpp/impl/service_type.h>

#include <memory>
#include <set>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"
#include "coordinator/rpc/keyed_count.h"

namespace tangram {

class HealthWatch;

// Limits on calls that watch, by host. Anybody may make them: each takes 17 KB,
// and lasts. One host may be a proxy with all clients behind it.
inline constexpr CountLimits kWatchLimits = {.max_of_key = 12'000,
                                             .max_of_all = 24'000};

// Whether the coordinator serves, for calls of grpc.health.v1. The empty name
// of a service is the only one that is known. Thread-safe. It must live longer
// than its services.
class Health {
 public:
  explicit Health(const CountLimits& watch_limits = kWatchLimits)
      : calls_(watch_limits) {}

  // Tells those who watch.
  void SetServing(bool serving);
  // Ends the calls of those who watch, now and from now on.
  void End();

  // Returns a service for one server. gRPC's own has no limit on messages; this
  // one takes requests of kMaxSmallRequestBytes, as bytes.
  std::unique_ptr<grpc::Service> CreateService();

 private:
  friend class HealthWatch;
  friend class HealthService;

  bool is_serving() const;
  // Tells the watch what it missed.
  void Add(HealthWatch& watch);
  void Remove(HealthWatch& watch);

  KeyedCount calls_;  // Those that watch, by host.
  mutable Mutex mutex_;
  bool is_serving_ ABSL_GUARDED_BY(mutex_) = true;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<HealthWatch*> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_HEALTH_SERVICE_H_
