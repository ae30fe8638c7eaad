#ifndef TANGRAM_COORDINATOR_PLANNING_PLAN_CACHE_H_
#define TANGRAM_COORDINATOR_PLANNING_PLAN_CACHE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/base/fingerprint.h"
#include "common/sync/mutex.h"
#include "coordinator/dispatch/lru_cache.h"

namespace tangram {

// Answers to planning requests as they went over the wire, so that the same
// request again costs no more than the network. Compares whole requests:
// nobody can make one that is mistaken for another's. Thread-safe.
class PlanCache {
 public:
  explicit PlanCache(int64_t max_bytes) : answers_(max_bytes) {}

  // `adapters`: WorkerPool::OfferedAdapters when the answer was worked out.
  std::optional<grpc::ByteBuffer> Find(Fingerprint adapters,
                                       const grpc::ByteBuffer& request);
  void Insert(Fingerprint adapters, const grpc::ByteBuffer& request,
              const grpc::ByteBuffer& answer);

 private:
  Mutex mutex_;
  LruCache<std::string, grpc::ByteBuffer> answers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNING_PLAN_CACHE_H_
