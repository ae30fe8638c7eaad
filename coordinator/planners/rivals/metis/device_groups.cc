#include "coordinator/planners/rivals/metis/device_groups.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace tangram {
namespace {

// Sizes of groups that keep their order while units are permuted.
using Unit = std::vector<int>;

int TotalOf(const Unit& unit) {
  return std::accumulate(unit.begin(), unit.end(), 0);
}

// One round of joining: adjacent units of the least total become one, pair by
// pair from the left. Returns whether any did.
bool JoinSmallest(int max_units, std::vector<Unit>& units) {
  const auto smallest = std::min_element(
      units.begin(), units.end(),
      [](const Unit& a, const Unit& b) { return TotalOf(a) < TotalOf(b); });
  const int least = TotalOf(*smallest);
  const auto alike =
      static_cast<int>(std::count(units.begin(), units.end(), *smallest));
  int left =
      std::max(static_cast<int>(units.size()) - max_units, (alike + 1) / 2);
  std::vector<Unit> joined;
  for (size_t i = 0; i < units.size(); ++i) {
    joined.push_back(units[i]);
    if (left == 0 || i + 1 == units.size()) continue;
    if (TotalOf(units[i]) != least || TotalOf(units[i + 1]) != least) continue;
    ++i;
    --left;
    joined.back().insert(joined.back().end(), units[i].begin(), units[i].end());
  }
  const bool progress = joined.size() < units.size();
  units = std::move(joined);
  return progress;
}

// The permutations of a multiset by prefix shifts (A. Williams, "Loopless
// generation of multiset permutations using a constant number of variables by
// prefix shifts", SODA 2009). The first is in descending order. Each step moves
// one element to the front of a linked list.
class MultisetPermutations {
 public:
  explicit MultisetPermutations(std::vector<int> values)
      : values_(std::move(values)), next_(values_.size()) {
    std::sort(values_.rbegin(), values_.rend());
    std::iota(next_.begin(), next_.end(), 1);
    next_.back() = kEnd;
    last_ = static_cast<int>(values_.size()) - 1;
    ascent_ = std::max(0, last_ - 1);
  }

  std::vector<int> Current() const {
    std::vector<int> order;
    for (int i = head_; i != kEnd; i = next_[i]) order.push_back(values_[i]);
    return order;
  }

  // Goes to the next permutation. False: there are no more.
  bool Advance() {
    const int after = next_[last_];
    if (after == kEnd && values_[last_] >= values_[head_]) return false;
    const bool behind_last =
        after != kEnd && values_[ascent_] >= values_[after];
    const int before = behind_last ? last_ : ascent_;
    const int moved = next_[before];
    next_[before] = next_[moved];
    next_[moved] = head_;
    if (values_[moved] < values_[head_]) ascent_ = moved;
    last_ = next_[ascent_];
    head_ = moved;
    return true;
  }

 private:
  static constexpr int kEnd = -1;
  std::vector<int> values_;
  std::vector<int> next_;
  int head_ = 0;
  int ascent_ = 0;  // The end of the descending prefix, but one.
  int last_ = 0;    // Behind it.
};

// Calls `visit` for all orders of the units of `sizes`, flattened.
bool VisitOrders(const std::vector<int>& sizes, int max_units,
                 absl::FunctionRef<bool(const std::vector<int>&)> visit) {
  std::vector<Unit> units;
  for (const int size : sizes) units.push_back({size});
  while (static_cast<int>(units.size()) > max_units &&
         JoinSmallest(max_units, units)) {
  }
  std::vector<Unit> kinds = units;
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  std::vector<int> kind_of_unit;
  for (const Unit& unit : units) {
    kind_of_unit.push_back(static_cast<int>(
        std::lower_bound(kinds.begin(), kinds.end(), unit) - kinds.begin()));
  }
  MultisetPermutations permutations(std::move(kind_of_unit));
  std::vector<int> groups;
  do {
    groups.clear();
    for (const int kind : permutations.Current()) {
      groups.insert(groups.end(), kinds[kind].begin(), kinds[kind].end());
    }
    if (!visit(groups)) return false;
  } while (permutations.Advance());
  return true;
}

// Extends `sizes` in all ascending ways by `missing` of `shapes` from index
// `first` on that add up to `left`.
bool VisitSizes(const std::vector<int>& shapes, size_t first, int64_t left,
                int missing, std::vector<int>& sizes,
                absl::FunctionRef<bool(const std::vector<int>&)> visit) {
  if (missing == 0) return left > 0 || visit(sizes);
  for (size_t i = first; i < shapes.size(); ++i) {
    if (int64_t{shapes[i]} * missing > left) break;
    if (int64_t{shapes.back()} * missing < left) break;
    sizes.push_back(shapes[i]);
    const bool goes_on =
        VisitSizes(shapes, i, left - shapes[i], missing - 1, sizes, visit);
    sizes.pop_back();
    if (!goes_on) return false;
  }
  return true;
}

}  // namespace

void ForEachDeviceGroups(
    int num_gpus, int num_stages, const DeviceGroupLimits& limits,
    absl::FunctionRef<bool(const std::vector<int>&)> visit) {
  const double least =
      std::max(num_gpus / num_stages, num_stages / num_gpus) * limits.min_scale;
  std::vector<int> shapes;
  for (int64_t shape = 1; shape <= num_gpus; shape *= 2) {
    if (static_cast<double>(shape) >= least) {
      shapes.push_back(static_cast<int>(shape));
    }
  }
  std::vector<int> sizes;
  VisitSizes(shapes, 0, num_gpus, num_stages, sizes,
             [&](const std::vector<int>& found) {
               return VisitOrders(found, limits.max_permute_len, visit);
             });
}

}  // namespace tangram
