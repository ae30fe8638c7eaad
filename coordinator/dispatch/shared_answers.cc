#include "coordinator/dispatch/shared_answers.h"

#include <utility>

namespace tangram {

SharedAnswers::Found SharedAnswers::FindOrClaim(const QueryKey& key,
                                                bool may_claim) {
  const MutexLock lock(mutex_);
  if (auto answer = answers_.Find(key); answer != nullptr) {
    return {.answer = std::move(answer)};
  }
  if (!may_claim) return {};
  return {.is_claimed = claimed_.insert(key).second};
}

void SharedAnswers::Insert(const QueryKey& key, const Answer& answer) {
  std::shared_ptr<const PackedAnswer> packed = PackIfReproducible(answer);
  const MutexLock lock(mutex_);
  answers_.Insert(key, std::move(packed));
  if (claimed_.erase(key) > 0) ended_.NotifyAll();
}

void SharedAnswers::Release(absl::Span<const QueryKey> keys) {
  const MutexLock lock(mutex_);
  for (const QueryKey& key : keys) claimed_.erase(key);
  ended_.NotifyAll();
}

void SharedAnswers::Wait(const QueryKey& key) {
  const MutexLock lock(mutex_);
  ended_.Wait(mutex_, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !claimed_.contains(key);
  });
}

}  // namespace tangram
