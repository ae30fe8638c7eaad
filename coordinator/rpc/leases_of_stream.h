#ifndef TANGRAM_COORDINATOR_RPC_LEASES_OF_STREAM_H_
#define TANGRAM_COORDINATOR_RPC_LEASES_OF_STREAM_H_

#include <cstddef>
#include <deque>

#include "absl/container/flat_hash_set.h"
#include "coordinator/dispatch/work_queue.h"

namespace tangram {

// The leases that a worker got over one stream, so that an answer to any other
// lease is known without the lock of the pool, before it is decoded. Not
// thread-safe.
class LeasesOfStream {
 public:
  // Remembers the last `max_revoked` revoked leases that have no answer yet.
  explicit LeasesOfStream(size_t max_revoked) : max_revoked_(max_revoked) {}

  void Add(TaskId task) { open_.insert(task); }
  // The lease was revoked. Its answer may be under way.
  void Revoke(TaskId task);
  // An answer has come, or the lease was handed back. Returns false if the
  // worker has no such lease, or has answered it before.
  bool End(TaskId task);

 private:
  const size_t max_revoked_;
  absl::flat_hash_set<TaskId> open_;
  absl::flat_hash_set<TaskId> revoked_;
  std::deque<TaskId> revocations_;  // Oldest first.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_LEASES_OF_STREAM_H_
