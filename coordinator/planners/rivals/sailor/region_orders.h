#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_REGION_ORDERS_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_REGION_ORDERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/planners/rivals/sailor/sailor_input.h"

namespace tangram::sailor {

// The most regions of an input: all their orders are looked at.
inline constexpr int kMostRegions = 7;

struct Region {
  std::string name;
  std::vector<int> zones;  // Most GPUs first, then as listed.
};

// The regions that have GPUs, by name. Errors: kInvalidArgument for more than
// kMostRegions.
absl::StatusOr<std::vector<Region>> RegionsOf(const Input& input);

// Indexes of regions through which a pipeline passes, first stages first. Each
// set of regions has one order, that with the fastest slowest step. Sets with
// faster slowest steps come first, single regions before all.
std::vector<std::vector<int>> RegionOrders(const Input& input,
                                           const std::vector<Region>& regions);

}  // namespace tangram::sailor

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_REGION_ORDERS_H_
