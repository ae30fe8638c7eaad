#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_STATE_MEMO_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_STATE_MEMO_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace tangram::sailor {

// A table from keys of `width` numbers to small numbers, by open addressing.
class StateMemo {
 public:
  static constexpr int kAbsent = -2;

  explicit StateMemo(int width) : width_(width), slots_(1024, -1) {}

  // The value of a key, or kAbsent.
  int Find(absl::Span<const int32_t> key) const {
    const int entry = slots_[SlotOf(key)];
    return entry < 0 ? kAbsent : values_[entry];
  }

  // Sets the value of a key.
  void Set(absl::Span<const int32_t> key, int value);

  void Clear();

  int width() const { return width_; }

 private:
  // The slot that holds the key, or the empty one where it belongs.
  size_t SlotOf(absl::Span<const int32_t> key) const;
  void Grow();

  int width_;
  std::vector<int> slots_;  // Entries; -1: empty. A power of two.
  std::vector<int32_t> keys_;
  std::vector<int> values_;
};

}  // namespace tangram::sailor

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_STATE_MEMO_H_
