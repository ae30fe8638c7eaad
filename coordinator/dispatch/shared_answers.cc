#include "coordinator/dispatch/shared_answers.h"

#include <cstring>
#include <utility>

namespace tangram {
namespace {

uint64_t NextNumber() {
  static std::atomic<uint64_t> next = 1;
  return next++;
}

int64_t NumStages(const SlicePlanSet& set) {
  int64_t num_stages = 1;  // A set without plans takes memory too.
  for (const SlicePlan& plan : set.plans) num_stages += plan.num_stages();
  return num_stages;
}

}  // namespace

SharedAnswers::SharedAnswers(int64_t max_bytes, size_t most_claims,
                             int64_t max_unpacked_stages)
    : number_(NextNumber()),
      most_claims_(most_claims),
      max_unpacked_stages_(max_unpacked_stages),
      answers_(max_bytes) {}

// Others ask another parallelizer the same.
SharedAnswer::Name SharedAnswers::NameOf(const QueryKey& key) const {
  SharedAnswer::Name name;
  static_assert(sizeof(name) <= sizeof(key.digest));
  std::memcpy(name.data(), &key.digest, sizeof(name));
  name[0] ^= number_;
  return name;
}

SharedAnswer SharedAnswers::FindUnpacked(const QueryKey& key) {
  const MutexLock lock(unpacked_mutex_);
  const auto known = unpacked_.find(key);
  if (known == unpacked_.end()) return {};
  return {.set = known->second, .name = NameOf(key)};
}

SharedAnswer SharedAnswers::KeepUnpacked(const QueryKey& key,
                                         SlicePlanSet set) {
  SharedAnswer answer = {
      .set = std::make_shared<const SlicePlanSet>(std::move(set))};
  if (answer.set->truncated) return answer;
  answer.name = NameOf(key);
  const int64_t num_stages = NumStages(*answer.set);
  const MutexLock lock(unpacked_mutex_);
  if (num_unpacked_stages_ + num_stages > max_unpacked_stages_) return answer;
  if (unpacked_.emplace(key, answer.set).second) {
    num_unpacked_stages_ += num_stages;
  }
  return answer;
}

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
