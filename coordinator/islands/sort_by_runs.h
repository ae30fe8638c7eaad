#ifndef TANGRAM_COORDINATOR_ISLANDS_SORT_BY_RUNS_H_
#define TANGRAM_COORDINATOR_ISLANDS_SORT_BY_RUNS_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace tangram {

// Sorts values that are mostly in order, as nodes of a group are by name:
// merges neighbouring runs. No two may be equal. Takes time in proportion to
// the values and the logarithm of the number of runs.
template <typename T, typename Less = std::less<>>
void SortByRuns(std::vector<T>& values, const Less& less = Less()) {
  std::vector<std::ptrdiff_t> borders = {0};  // Borders of runs.
  for (size_t i = 1; i < values.size(); ++i) {
    if (less(values[i], values[i - 1])) {
      borders.push_back(static_cast<std::ptrdiff_t>(i));
    }
  }
  borders.push_back(std::ssize(values));
  while (borders.size() > 2) {
    std::vector<std::ptrdiff_t> merged;
    for (size_t r = 0; r + 1 < borders.size(); r += 2) {
      merged.push_back(borders[r]);
      if (r + 2 >= borders.size()) continue;
      std::inplace_merge(values.begin() + borders[r],
                         values.begin() + borders[r + 1],
                         values.begin() + borders[r + 2], less);
    }
    merged.push_back(borders.back());
    borders = std::move(merged);
  }
}

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_SORT_BY_RUNS_H_
