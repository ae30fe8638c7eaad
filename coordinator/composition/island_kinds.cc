#include "coordinator/composition/island_kinds.h"

#include <algorithm>
#include <bit>

namespace tangram {

IslandKinds::IslandKinds(const ComposeProblem& problem) {
  std::vector<std::vector<int>> pairs_of(problem.num_islands);
  for (int i = 0; i < static_cast<int>(problem.pairs.size()); ++i) {
    pairs_of[problem.pairs[i].island].push_back(i);
  }
  const auto is_required = [&](int island) {
    return (problem.required_islands >> island & 1) != 0;
  };
  const auto is_alike = [&](int a, int b) {
    const PlacedPair& one = problem.pairs[a];
    const PlacedPair& other = problem.pairs[b];
    return one.atoms == other.atoms && one.pair == other.pair;
  };
  for (int island = 0; island < problem.num_islands; ++island) {
    const auto& pairs = pairs_of[island];
    const auto known =
        std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
          const int first = kind.first_island;
          return is_required(first) == is_required(island) &&
                 std::equal(pairs.begin(), pairs.end(), pairs_of[first].begin(),
                            pairs_of[first].end(), is_alike);
        });
    kind_of_.push_back(static_cast<int>(known - kinds_.begin()));
    if (known == kinds_.end()) kinds_.push_back({.first_island = island});
    ++kinds_[kind_of_.back()].num_islands;
  }
  for (Kind& kind : kinds_) {
    kind.stride = num_sets_;
    num_sets_ *= kind.num_islands + 1;
  }
  const int num_first = std::min(problem.num_islands, kNumFirst);
  of_first_ = SetsOf(0, num_first);
  of_rest_ = SetsOf(num_first, problem.num_islands);
}

// Returns the indices of all sets of islands [begin, end). Each is that without
// its first island, and the island.
std::vector<uint32_t> IslandKinds::SetsOf(int begin, int end) const {
  std::vector<uint32_t> sets(size_t{1} << (end - begin));
  for (uint32_t islands = 1; islands < sets.size(); ++islands) {
    const Kind& kind = kinds_[kind_of_[begin + std::countr_zero(islands)]];
    sets[islands] =
        sets[islands & (islands - 1)] + static_cast<uint32_t>(kind.stride);
  }
  return sets;
}

}  // namespace tangram
