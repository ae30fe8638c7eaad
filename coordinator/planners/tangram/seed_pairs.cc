#include "coordinator/planners/tangram/seed_pairs.h"

#include <algorithm>
#include <cstdint>

namespace tangram {
namespace {

// Adds the pairs of the model cut over `order` by capacity. With C_i the
// capacity of island i and W(a) the work of atoms [0, a), island k of the order
// ends at the atom border e whose W(e) is nearest to
//
//   W(n)·Σ_{i ≤ k} C_i / Σ_i C_i.
//
// The last island ends at n. Islands for which no atom is left get none.
void AddProportionalCuts(const SearchSpace& space, int microbatch,
                         absl::Span<const int> order,
                         std::vector<PairId>& pairs) {
  const WorkBounds& bounds = space.bounds[microbatch];
  uint32_t all = 0;
  for (const int island : order) all |= uint32_t{1} << island;
  const double total_capacity = bounds.Capacity(all);
  const double total_work = bounds.MeanWork(space.num_atoms());
  int begin = 0;
  double share = 0;
  for (const int island : order) {
    share += bounds.Capacity(uint32_t{1} << island) / total_capacity;
    int end = begin;
    // The next border is nearer while the middle of the atom is before the
    // share.
    while (end < space.num_atoms() &&
           bounds.MeanWork(end) + bounds.MeanWork(end + 1) <=
               2 * share * total_work) {
      ++end;
    }
    if (island == order.back()) end = space.num_atoms();
    if (end == begin) continue;
    pairs.push_back({.microbatch = microbatch,
                     .slice_class = space.slices.ClassOf({begin, end}),
                     .island_class = space.class_of_island[island]});
    begin = end;
  }
}

}  // namespace

std::vector<PairId> SeedPairs(const SearchSpace& space) {
  std::vector<int> by_memory;
  for (int i = 0; i < space.num_islands(); ++i) {
    if (space.rules.IsUsable(i)) by_memory.push_back(i);
  }
  std::stable_sort(by_memory.begin(), by_memory.end(), [&](int a, int b) {
    return space.islands[a].spec.device.memory_bytes >
           space.islands[b].spec.device.memory_bytes;
  });
  std::vector<PairId> pairs;
  for (int m = 0; m < static_cast<int>(space.microbatch_sizes.size()); ++m) {
    const WorkBounds& bounds = space.bounds[m];
    for (const int island : by_memory) {
      AddProportionalCuts(space, m, {&island, 1}, pairs);
    }
    std::vector<int> order = by_memory;
    while (order.size() > 1) {
      AddProportionalCuts(space, m, order, pairs);
      order.erase(
          std::min_element(order.begin(), order.end(), [&](int a, int b) {
            return bounds.Capacity(uint32_t{1} << a) <
                   bounds.Capacity(uint32_t{1} << b);
          }));
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

}  // namespace tangram
