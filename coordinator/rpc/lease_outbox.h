#ifndef TANGRAM_COORDINATOR_RPC_LEASE_OUTBOX_H_
#define TANGRAM_COORDINATOR_RPC_LEASE_OUTBOX_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "coordinator/dispatch/worker_pool.h"

namespace tangram::v1 {
class CoordinatorMessage;
}  // namespace tangram::v1

namespace tangram {

// What one worker is still to be told. Gathers it while the stream is busy, and
// knows which contexts the worker has. Not thread-safe.
class LeaseOutbox {
 public:
  void Add(std::vector<LeasedQuery> leases);
  // Of a lease that is not sent yet, nothing will be.
  void Cancel(TaskId task);
  // A message, even if there is nothing to tell.
  void AddNothing() { must_write_ = true; }

  bool IsEmpty() const {
    return leases_.empty() && cancelled_.empty() && !must_write_;
  }
  // Moves all of it into `message`.
  void MoveTo(v1::CoordinatorMessage& message);

 private:
  // A context that the worker has, or is about to have. Its number is this
  // stream's own: contexts of two tenants never have the same one.
  struct SentContext {
    Digest id;
    uint64_t number = 0;
  };

  // Returns the context's number.
  uint64_t SendContext(const QueryContext& context,
                       v1::CoordinatorMessage& message);

  std::vector<LeasedQuery> leases_;
  std::vector<TaskId> cancelled_;
  bool must_write_ = false;
  std::deque<SentContext> contexts_;  // The last used last.
  uint64_t last_number_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_LEASE_OUTBOX_H_
