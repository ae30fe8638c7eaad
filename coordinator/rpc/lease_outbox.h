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

// The messages that wait for one worker while its stream is busy. Knows which
// contexts the worker has. Not thread-safe.
class LeaseOutbox {
 public:
  void Add(std::vector<LeasedQuery> leases);
  // Cancels a lease. If it has not been sent yet, nothing will be.
  void Cancel(TaskId task);
  // Makes MoveTo due even if there is nothing to tell.
  void AddNothing() { must_write_ = true; }
  // Allows the worker a silence, which leases end.
  void AllowSilence(double silence_s) {
    silence_s_ = silence_s;
    must_write_ = true;
  }

  bool IsEmpty() const {
    return leases_.empty() && cancelled_.empty() && !must_write_;
  }
  // Moves everything into `message`.
  void MoveTo(v1::CoordinatorMessage& message);

 private:
  // A context that the worker has or is about to receive. Numbers belong to
  // this stream. Equal contexts share one, also those of two tenants: the
  // worker learns of no tenant, and a digest stands for one content.
  struct SentContext {
    Digest id;
    uint64_t number = 0;
  };

  // Adds the context to `message` unless the worker has it. Returns its number.
  uint64_t SendContext(const QueryContext& context,
                       v1::CoordinatorMessage& message);

  std::vector<LeasedQuery> leases_;
  std::vector<TaskId> cancelled_;
  bool must_write_ = false;
  double silence_s_ = 0;              // 0: none is allowed.
  std::deque<SentContext> contexts_;  // Least recently used first.
  uint64_t last_number_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_LEASE_OUTBOX_H_
