#ifndef TANGRAM_COORDINATOR_PLANNERS_FRONTIER_STAIRCASE_H_
#define TANGRAM_COORDINATOR_PLANNERS_FRONTIER_STAIRCASE_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "coordinator/planners/frontier/allocation_list.h"

namespace tangram {

// The worth of so many nodes of a group, with the others of the base.
struct Stair {
  int nodes = 0;
  double worth = 0;  // Such as tokens a second.
  // The change of worth for each node more or less than the base has.
  // Empty for the base itself.
  std::optional<double> marginal;
};

// The stairs of one group, by ascending nodes.
struct Staircase {
  std::vector<Stair> stairs;
  // The most nodes of the base without which it is worth as much, but for a
  // thousandth.
  int idle_nodes = 0;
  // The number above the base that is worth most for each node more. Empty:
  // no more nodes were asked about, or they bring nothing.
  std::optional<int> best_to_buy;
};

// Returns the staircase of each group around `base`, which must be in the list.
// `worths` are of the allocations, in order, and never fall with more nodes.
std::vector<Staircase> StaircasesAround(
    const Allocation& base, absl::Span<const Allocation> allocations,
    absl::Span<const double> worths);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_FRONTIER_STAIRCASE_H_
