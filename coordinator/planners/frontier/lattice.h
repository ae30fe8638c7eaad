#ifndef TANGRAM_COORDINATOR_PLANNERS_FRONTIER_LATTICE_H_
#define TANGRAM_COORDINATOR_PLANNERS_FRONTIER_LATTICE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace tangram {

// The allocations that a scheduler may give a job: each combination of one
// number of nodes for each group. Numbers ascend.
struct Lattice {
  std::vector<std::vector<int>> counts;  // [group]; none is empty.

  int64_t size() const;
  // Returns the number of nodes of each group. The last group runs fastest.
  std::vector<int> At(int64_t index) const;
};

// The best that an allocation can do, as a job may leave nodes idle.
struct EnvelopePoint {
  double seconds = 0;
  int64_t index = 0;  // The allocation that takes so long.
  bool operator==(const EnvelopePoint&) const = default;
};

// Returns, for each allocation, the fastest of it and of those in the lattice
// with no more nodes of any group. So it never rises with more nodes. The first
// of equal ones counts. Empty: none has a plan. `seconds` has an entry for
// each allocation, in order; empty: no plan. O(allocations x groups).
std::vector<std::optional<EnvelopePoint>> Envelope(
    const Lattice& lattice, absl::Span<const std::optional<double>> seconds);

// A time and a price, both better if less.
struct TimeAndPrice {
  double seconds = 0;
  double price = 0;
};

// Returns the indices of the points that no other beats in one figure without
// being worse in the other, by ascending price. The first of equal points
// counts. O(n log n).
std::vector<int64_t> ParetoFront(
    absl::Span<const std::optional<TimeAndPrice>> points);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_FRONTIER_LATTICE_H_
