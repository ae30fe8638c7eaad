#include "coordinator/rpc/lease_outbox.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/wire/parallelizer_wire.h"
#include "common/wire/worker_pool_wire.h"
#include "tangram/v1/worker_pool_service.pb.h"

namespace tangram {
namespace {

// Contexts that a worker keeps although no lease sent to it refers to them. The
// next batch of the same plan will.
constexpr size_t kKeptContexts = 4;

}  // namespace

void LeaseOutbox::Add(std::vector<LeasedQuery> leases) {
  silence_s_ = 0;
  std::move(leases.begin(), leases.end(), std::back_inserter(leases_));
}

void LeaseOutbox::Cancel(TaskId task) {
  if (std::erase_if(leases_, [task](const LeasedQuery& lease) {
        return lease.task == task;
      }) == 0) {
    cancelled_.push_back(task);
  }
}

void LeaseOutbox::MoveTo(v1::CoordinatorMessage& message) {
  std::map<Digest, uint64_t> used;  // From context to its number.
  for (const LeasedQuery& lease : leases_) {
    v1::Lease& encoded = *message.add_leases();
    encoded.set_id(lease.task);
    encoded.set_adapter(lease.adapter.name);
    EncodeQuery(lease.query, encoded);
    if (lease.context == nullptr) continue;
    const auto [it, is_new] = used.try_emplace(lease.context->id);
    if (is_new) it->second = SendContext(*lease.context, message);
    encoded.set_context(it->second);
  }
  while (contexts_.size() > std::max(kKeptContexts, used.size())) {
    message.add_dropped_contexts(contexts_.front().number);
    contexts_.pop_front();
  }
  message.mutable_cancelled()->Assign(cancelled_.begin(), cancelled_.end());
  message.set_silence_s(silence_s_);
  leases_.clear();
  cancelled_.clear();
  silence_s_ = 0;
  must_write_ = false;
}

uint64_t LeaseOutbox::SendContext(const QueryContext& context,
                                  v1::CoordinatorMessage& message) {
  const auto it =
      std::find_if(contexts_.begin(), contexts_.end(),
                   [&](const SentContext& s) { return s.id == context.id; });
  SentContext sent;
  if (it != contexts_.end()) {
    sent = *it;
    contexts_.erase(it);
  } else {
    sent = {.id = context.id, .number = ++last_number_};
    v1::PairContext& encoded = *message.add_contexts();
    encoded = ToProto(context.pairs);
    encoded.set_id(sent.number);
  }
  contexts_.push_back(sent);
  return sent.number;
}

}  // namespace tangram
