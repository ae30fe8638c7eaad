#include "coordinator/planners/tangram/seed_pairs.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace tangram {
namespace {

// The capacity of each island: mean work per second.
using Capacities = std::vector<double>;

double SumOver(absl::Span<const int> islands, const Capacities& capacities) {
  double sum = 0;
  for (const int island : islands) sum += capacities[island];
  return sum;
}

// Adds the pairs of the model cut over `order` by capacity. With C_i the
// capacity of island i and W(a) the work of atoms [0, a), island k of the order
// ends at the atom border e whose W(e) is nearest to
//
//   W(n)·Σ_{i ≤ k} C_i / Σ_i C_i.
//
// The last island ends at n. Islands for which no atom is left get none.
void AddProportionalCuts(const SearchSpace& space, int microbatch,
                         absl::Span<const int> order,
                         const Capacities& capacities,
                         std::vector<PairId>& pairs) {
  const WorkBounds& bounds = space.bounds[microbatch];
  const double total_capacity = SumOver(order, capacities);
  const double total_work = bounds.MeanWork(space.num_atoms());
  int begin = 0;
  double share = 0;
  for (const int island : order) {
    share += capacities[island] / total_capacity;
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

// Returns the usable islands by falling memory per GPU.
std::vector<int> ByMemory(const SearchSpace& space) {
  std::vector<int> by_memory;
  for (int i = 0; i < space.num_islands(); ++i) {
    if (space.rules.IsUsable(i)) by_memory.push_back(i);
  }
  std::stable_sort(by_memory.begin(), by_memory.end(), [&](int a, int b) {
    return space.islands[a].spec.device.memory_bytes >
           space.islands[b].spec.device.memory_bytes;
  });
  return by_memory;
}

// Adds the pairs of the islands of `order` together, then without the weakest
// one, two, ... while at least `fewest` are left.
void AddFewerAndFewer(const SearchSpace& space, int microbatch,
                      std::vector<int> order, size_t fewest,
                      const Capacities& capacities,
                      std::vector<PairId>& pairs) {
  while (order.size() >= fewest && !order.empty()) {
    AddProportionalCuts(space, microbatch, order, capacities, pairs);
    order.erase(std::min_element(order.begin(), order.end(), [&](int a, int b) {
      return capacities[a] < capacities[b];
    }));
  }
}

void SortOnce(std::vector<PairId>& pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
}

}  // namespace

std::vector<PairId> SeedPairs(const SearchSpace& space) {
  const std::vector<int> by_memory = ByMemory(space);
  std::vector<PairId> pairs;
  for (int m = 0; m < static_cast<int>(space.microbatch_sizes.size()); ++m) {
    Capacities capacities;
    for (int i = 0; i < space.num_islands(); ++i) {
      capacities.push_back(space.bounds[m].Capacity(uint32_t{1} << i));
    }
    for (const int island : by_memory) {
      AddProportionalCuts(space, m, {&island, 1}, capacities, pairs);
    }
    AddFewerAndFewer(space, m, by_memory, /*fewest=*/2, capacities, pairs);
  }
  SortOnce(pairs);
  return pairs;
}

// The capacity of an island is the greatest w(S) / τ of the plans of its
// answered slices S, with τ the slowest stage.
std::vector<PairId> MeasuredSeedPairs(const SearchSpace& space,
                                      const PairStore& store) {
  const std::vector<int> by_memory = ByMemory(space);
  std::vector<PairId> pairs;
  for (int m = 0; m < static_cast<int>(space.microbatch_sizes.size()); ++m) {
    const WorkBounds& bounds = space.bounds[m];
    Capacities of_class(space.island_classes.size());
    for (int s = 0; s < space.slices.num_classes(); ++s) {
      const AtomRange range = space.slices.MembersOf(s).front();
      const double work =
          bounds.MeanWork(range.end) - bounds.MeanWork(range.begin);
      for (size_t i = 0; i < of_class.size(); ++i) {
        const PairId pair{m, s, static_cast<int>(i)};
        for (const Candidate& plan : store.CandidatesOf(pair).candidates) {
          of_class[i] = std::max(of_class[i], work / plan.slowest_s);
        }
      }
    }
    std::vector<int> order;
    Capacities capacities;
    for (int i = 0; i < space.num_islands(); ++i) {
      capacities.push_back(of_class[space.class_of_island[i]]);
    }
    for (const int island : by_memory) {
      if (capacities[island] > 0) order.push_back(island);
    }
    AddFewerAndFewer(space, m, order, /*fewest=*/1, capacities, pairs);
  }
  SortOnce(pairs);
  return pairs;
}

}  // namespace tangram
