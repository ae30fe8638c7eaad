#ifndef TANGRAM_COORDINATOR_PLANNERS_FRONTIER_FRONTS_H_
#define TANGRAM_COORDINATOR_PLANNERS_FRONTIER_FRONTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "coordinator/planners/frontier/lattice.h"

namespace tangram {

// Figures of a point, all better if less. Equal figures that nobody asked for
// tell nothing apart.
inline constexpr size_t kFrontFigures = 4;
using FrontFigures = std::array<double, kFrontFigures>;

// Returns the indices of the points that no other equals or beats in every
// figure while it beats them in one, ascending. The first of equal points
// counts. O(points x front).
std::vector<int64_t> NotDominated(
    absl::Span<const std::optional<FrontFigures>> points);

// Returns the knee of a front by ascending price (ParetoFront): the point that
// is farthest below the line between the ends, with the logarithms of time and
// price each scaled to the front's range. Empty: the front has less than three
// points, figures that are not positive, or bends nowhere.
std::optional<int64_t> KneeOf(
    absl::Span<const int64_t> front,
    absl::Span<const std::optional<TimeAndPrice>> points);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_FRONTIER_FRONTS_H_
