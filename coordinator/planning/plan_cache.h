#ifndef TANGRAM_COORDINATOR_PLANNING_PLAN_CACHE_H_
#define TANGRAM_COORDINATOR_PLANNING_PLAN_CACHE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"
#include "coordinator/dispatch/lru_cache.h"
#include "coordinator/dispatch/sha256.h"

namespace tangram {

// What the answer to a request depends on besides the request.
struct PlanScope {
  Digest adapters;     // WorkerPool::OfferedAdapters when it was worked out.
  std::string tenant;  // Whose answers may be returned; empty: everybody's.
};

// Answers to planning requests as they went over the wire, so that the same
// request again costs no more than the network. Compares whole requests:
// nobody can make one that is mistaken for another's. Thread-safe.
class PlanCache {
 public:
  explicit PlanCache(int64_t max_bytes) : answers_(max_bytes) {}

  std::optional<grpc::ByteBuffer> Find(const PlanScope& scope,
                                       const grpc::ByteBuffer& request);
  void Insert(const PlanScope& scope, const grpc::ByteBuffer& request,
              const grpc::ByteBuffer& answer);

 private:
  Mutex mutex_;
  LruCache<std::string, grpc::ByteBuffer> answers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNING_PLAN_CACHE_H_
