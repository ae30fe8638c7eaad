#include "coordinator/planners/rivals/sailor/state_memo.h"

#include <algorithm>
#include <cstddef>

namespace tangram::sailor {

size_t StateMemo::SlotOf(absl::Span<const int32_t> key) const {
  uint64_t hash = 0;
  for (const int32_t part : key) {
    hash = (hash ^ static_cast<uint32_t>(part)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot] >= 0 &&
         !std::equal(key.begin(), key.end(),
                     keys_.begin() + int64_t{slots_[slot]} * width_)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void StateMemo::Set(absl::Span<const int32_t> key, int value) {
  size_t slot = SlotOf(key);
  if (slots_[slot] >= 0) {
    values_[slots_[slot]] = value;
    return;
  }
  if (2 * (values_.size() + 1) > slots_.size()) {
    Grow();
    slot = SlotOf(key);
  }
  slots_[slot] = static_cast<int>(values_.size());
  keys_.insert(keys_.end(), key.begin(), key.end());
  values_.push_back(value);
}

void StateMemo::Grow() {
  slots_.assign(2 * slots_.size(), -1);
  for (size_t entry = 0; entry < values_.size(); ++entry) {
    const absl::Span<const int32_t> key(keys_.data() + entry * width_, width_);
    slots_[SlotOf(key)] = static_cast<int>(entry);
  }
}

void StateMemo::Clear() {
  std::fill(slots_.begin(), slots_.end(), -1);
  keys_.clear();
  values_.clear();
}

}  // namespace tangram::sailor
