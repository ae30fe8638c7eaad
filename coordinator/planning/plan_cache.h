#ifndef TANGRAM_COORDINATOR_PLANNING_PLAN_CACHE_H_
#define TANGRAM_COORDINATOR_PLANNING_PLAN_CACHE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/digest/sha256.h"
#include "common/sync/mutex.h"
#include "coordinator/dispatch/fair_cache.h"

namespace tangram {

// Everything besides the request on which an answer depends.
struct PlanScope {
  Digest adapters;     // WorkerPool::OfferedAdapters at the time of planning.
  std::string tenant;  // Tenant whose answers may be returned; empty: all.
  std::string owner;   // Tenant that a new answer counts for; not in the key.
};

// Returns the name of a request, the SHA-256 digest of its bytes. Nobody can
// make a request that is mistaken for another.
Digest RequestName(const grpc::ByteBuffer& request);

// Answers to planning requests in wire format, so that repeating a request
// costs no more than the network. Finds them by the name of the request in its
// scope, so a large request takes no room. Answers count for the tenant that
// first got them, and no tenant evicts what is within the share of another; see
// FairCache. Thread-safe.
class PlanCache {
 public:
  explicit PlanCache(int64_t max_bytes) : answers_(max_bytes) {}

  // Returns a copy of the answer to the same request in the same scope.
  std::optional<grpc::ByteBuffer> Find(const PlanScope& scope,
                                       const Digest& request);
  std::optional<grpc::ByteBuffer> Find(const PlanScope& scope,
                                       const grpc::ByteBuffer& request) {
    return Find(scope, RequestName(request));
  }

  // Clears so far. Ask before planning begins: Insert keeps no answer that was
  // under way when the answers of a tenant had to go.
  int64_t era() const;
  void Insert(const PlanScope& scope, const Digest& request,
              const grpc::ByteBuffer& answer, int64_t era);
  void Insert(const PlanScope& scope, const grpc::ByteBuffer& request,
              const grpc::ByteBuffer& answer, int64_t era) {
    Insert(scope, RequestName(request), answer, era);
  }
  void Clear();
  // Ends a period; see FairCache.
  void EndPeriod();

 private:
  mutable Mutex mutex_;
  int64_t era_ ABSL_GUARDED_BY(mutex_) = 0;
  FairCache<Digest, grpc::ByteBuffer> answers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNING_PLAN_CACHE_H_
