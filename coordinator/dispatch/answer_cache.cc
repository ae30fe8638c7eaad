#include "coordinator/dispatch/answer_cache.h"

#include <utility>
#include <variant>

namespace tangram {
namespace {

// Bytes per entry beside the answer: links of the list, the key, a place in the
// index, allocator.
constexpr int64_t kOverheadBytes = 100;

}  // namespace

bool IsReproducible(const Answer& answer) {
  const auto* set = std::get_if<SlicePlanSet>(&answer);
  return set == nullptr || !set->truncated;
}

std::shared_ptr<const PackedAnswer> PackIfReproducible(const Answer& answer) {
  return IsReproducible(answer) ? std::make_shared<const PackedAnswer>(answer)
                                : nullptr;
}

int64_t ApproximateBytes(const PackedAnswer& answer) {
  return kOverheadBytes + answer.num_bytes();
}

std::shared_ptr<const PackedAnswer> AnswerCache::Find(const QueryKey& key) {
  const auto* answer = answers_.Find(key);
  return answer == nullptr ? nullptr : *answer;
}

void AnswerCache::Insert(const QueryKey& key,
                         std::shared_ptr<const PackedAnswer> answer) {
  if (answer == nullptr) return;
  const int64_t bytes = ApproximateBytes(*answer);
  answers_.Insert(/*owner=*/"", key, std::move(answer), bytes);
}

}  // namespace tangram
