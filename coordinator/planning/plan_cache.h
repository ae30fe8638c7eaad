#ifndef TANGRAM_COORDINATOR_PLANNING_PLAN_CACHE_H_
#define TANGRAM_COORDINATOR_PLANNING_PLAN_CACHE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/digest/sha256.h"
#include "common/sync/mutex.h"
#include "coordinator/dispatch/lru_cache.h"

namespace tangram {

// Everything besides the request on which an answer depends.
struct PlanScope {
  Digest adapters;     // WorkerPool::OfferedAdapters at the time of planning.
  std::string tenant;  // Tenant whose answers may be returned; empty: all.
};

// Answers to planning requests in wire format, so that repeating a request
// costs no more than the network. Finds them by the SHA-256 digest of the whole
// request and its scope, so nobody can make a request that is mistaken for
// another, and a large request takes no room. Thread-safe.
class PlanCache {
 public:
  explicit PlanCache(int64_t max_bytes) : answers_(max_bytes) {}

  // Returns a copy of the answer to the same request in the same scope.
  std::optional<grpc::ByteBuffer> Find(const PlanScope& scope,
                                       const grpc::ByteBuffer& request);
  void Insert(const PlanScope& scope, const grpc::ByteBuffer& request,
              const grpc::ByteBuffer& answer);
  void Clear();

 private:
  Mutex mutex_;
  LruCache<Digest, grpc::ByteBuffer> answers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNING_PLAN_CACHE_H_
