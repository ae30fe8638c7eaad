#include "coordinator/planners/tangram/simulated_bound.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/composition/earlier_alike.h"

namespace tangram {
namespace {

// Beyond this many sets of islands, states do not tell them apart: 2^10 are
// quick to go through, 2^16 are not.
constexpr int64_t kMostSetsInStates = int64_t{1} << 10;

// Returns Π (n + 1) over all groups of n alike islands.
int64_t NumSets(absl::Span<const int> first_alike) {
  std::map<int, int> num_islands;
  for (const int first : first_alike) ++num_islands[first];
  int64_t num_sets = 1;
  for (const auto& [first, count] : num_islands) num_sets *= count + 1;
  return num_sets;
}

}  // namespace

BoundSlice MakeBoundSlice(AtomRange atoms, int island,
                          absl::Span<const double> stage_s, double closing_s,
                          int num_microbatches) {
  BoundSlice slice{.atoms = atoms, .island = island, .closing_s = closing_s};
  for (const double seconds : stage_s) {
    slice.busiest_s =
        std::max(slice.busiest_s, slice.latency_s + num_microbatches * seconds);
    slice.latency_s += seconds;
  }
  return slice;
}

// Dynamic program from the back, with V(a, S) the least V of a tail over atoms
// [a, n) on the islands S:
//
//   V(n, ∅) = 0
//   V(a, S ∪ {i}) = min over slices [a, e) on island i ∉ S of
//                   max(busiest, latency + V(e, S)),
//
// and the bound is the least of V(0, S) plus the closing time of the slice that
// begins at atom 0. States above the best so far are dropped.
absl::StatusOr<double> LeastIterationSeconds(
    int num_atoms, absl::Span<const int> first_alike,
    absl::Span<const BoundSlice> slices, double limit_s,
    absl::FunctionRef<bool()> should_stop) {
  const bool tells_islands = NumSets(first_alike) <= kMostSetsInStates;
  const std::vector<uint32_t> earlier_alike =
      EarlierAlike(static_cast<int>(first_alike.size()), [&](int a, int b) {
        return tells_islands && first_alike[a] == first_alike[b];
      });
  std::vector<std::vector<const BoundSlice*>> ending_at(num_atoms + 1);
  for (const BoundSlice& slice : slices) {
    ending_at[slice.atoms.end].push_back(&slice);
  }
  // least[a][S] = V(a, S).
  std::vector<std::map<uint32_t, double>> least(num_atoms + 1);
  least[num_atoms][0] = 0;
  double best_s = limit_s;
  for (int end = num_atoms; end > 0; --end) {
    for (const auto& [islands, tail_s] : least[end]) {
      if (should_stop()) return absl::CancelledError("planning stopped");
      for (const BoundSlice* slice : ending_at[end]) {
        const uint32_t own =
            tells_islands ? uint32_t{1} << slice->island : uint32_t{0};
        const uint32_t earlier = earlier_alike[slice->island];
        if ((islands & (earlier | own)) != earlier) continue;
        const double seconds =
            std::max(slice->busiest_s, slice->latency_s + tail_s);
        if (seconds > best_s) continue;
        if (slice->atoms.begin == 0) {
          best_s = std::min(best_s, seconds + slice->closing_s);
          continue;
        }
        const auto [it, inserted] =
            least[slice->atoms.begin].try_emplace(islands | own, seconds);
        if (!inserted) it->second = std::min(it->second, seconds);
      }
    }
  }
  return best_s < limit_s ? best_s * kRounding : limit_s;
}

}  // namespace tangram
