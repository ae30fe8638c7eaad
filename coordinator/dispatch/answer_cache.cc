#include "coordinator/dispatch/answer_cache.h"

#include <utility>

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

int64_t ApproximateBytes(const PackedAnswer& answer) {
  return kOverheadBytes + answer.num_bytes();
}

std::optional<Answer> AnswerCache::Find(const QueryKey& key) {
  const PackedAnswer* answer = answers_.Find(key);
  if (answer == nullptr) return std::nullopt;
  return answer->Unpack();
}

void AnswerCache::Insert(const QueryKey& key, const Answer& answer) {
  if (!IsReproducible(answer)) return;
  PackedAnswer packed(answer);
  const int64_t bytes = ApproximateBytes(packed);
  answers_.Insert(key, std::move(packed), bytes);
}

}  // namespace tangram
