#ifndef TANGRAM_COMMON_BASE_INSERT_NON_DOMINATED_H_
#define TANGRAM_COMMON_BASE_INSERT_NON_DOMINATED_H_

#include <utility>
#include <vector>

namespace tangram {

// Adds `item` to `set` unless a member is at least as good, and drops the
// members that it is at least as good as. `at_least_as_good(a, b)` must be
// reflexive and transitive; then no member of the set is ever at least as good
// as another, and of equals the first stays. Returns whether it was added.
// Takes O(set).
template <typename T, typename Law>
bool InsertNonDominated(T item, const Law& at_least_as_good,
                        std::vector<T>& set) {
  for (const T& other : set) {
    if (at_least_as_good(other, item)) return false;
  }
  std::erase_if(set,
                [&](const T& other) { return at_least_as_good(item, other); });
  set.push_back(std::move(item));
  return true;
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_INSERT_NON_DOMINATED_H_
