#ifndef TANGRAM_COORDINATOR_PLANNERS_FRONTIER_ALLOCATION_LIST_H_
#define TANGRAM_COORDINATOR_PLANNERS_FRONTIER_ALLOCATION_LIST_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "coordinator/planners/frontier/lattice.h"

namespace tangram {

// Numbers of nodes by group. All lists have as many groups.
using Allocation = std::vector<int>;

// The most combinations of the numbers that a list has of each group, for
// which Envelope works.
inline constexpr int64_t kMaxGridPoints = 20'000'000;

// Returns the order in which to plan allocations: few GPUs first, so that the
// first answers come soon and larger ones find their islands planned.
// `gpus_of_node` are those of a node of each group. Equal ones keep their
// order.
std::vector<int64_t> PlanningOrder(absl::Span<const Allocation> allocations,
                                   absl::Span<const int> gpus_of_node);

// Returns the envelope (lattice.h) over any list of different allocations in
// ascending order. kInvalidArgument beyond kMaxGridPoints.
absl::StatusOr<std::vector<std::optional<EnvelopePoint>>> EnvelopeOf(
    absl::Span<const Allocation> allocations,
    absl::Span<const std::optional<double>> seconds);

// Returns `center` and all allocations with at most one node more or less of
// each group, within `available`, ascending, without that of no nodes.
std::vector<Allocation> NeighboursOf(const Allocation& center,
                                     absl::Span<const int> available);

// Returns 1, 2, 4, .. nodes of one group, and all of them, for each group.
std::vector<Allocation> PowersOfOneGroup(absl::Span<const int> available);

// Returns the allocations of one group with `num_gpus` GPUs in all.
std::vector<Allocation> OneGroupWithGpus(int num_gpus,
                                         absl::Span<const int> available,
                                         absl::Span<const int> gpus_of_node);

// Sorts a list and leaves each allocation once.
void SortOnce(std::vector<Allocation>& allocations);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_FRONTIER_ALLOCATION_LIST_H_
