#ifndef TANGRAM_COORDINATOR_RPC_HEALTH_SERVICE_H_
#define TANGRAM_COORDINATOR_RPC_HEALTH_SERVICE_H_

#include <grpcpp/impl/service_type.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

class HealthWatch;

// Limits on calls that watch, which anybody may make: each takes 17 KB, and
// lasts. One host may be a proxy with all clients behind it.
struct WatchLimits {
  int max_of_host = 12'000;
  int max_of_all = 24'000;
};

// Whether the coordinator serves, for calls of grpc.health.v1. The empty name
// of a service is the only one that is known. Thread-safe. It must live longer
// than its services.
class Health {
 public:
  explicit Health(const WatchLimits& limits = {}) : limits_(limits) {}

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

  // Counts a watch from this host. Returns false if there are too many.
  bool Enter(const std::string& host);
  void Leave(const std::string& host);

  const WatchLimits limits_;
  mutable Mutex mutex_;
  std::map<std::string, int> num_of_host_ ABSL_GUARDED_BY(mutex_);
  int num_of_all_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_serving_ ABSL_GUARDED_BY(mutex_) = true;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<HealthWatch*> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_HEALTH_SERVICE_H_
