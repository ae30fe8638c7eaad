#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_DEVICE_GROUPS_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_DEVICE_GROUPS_H_

#include <vector>

#include "absl/functional/function_ref.h"

namespace tangram {

// The ways in which Metis (ATC'24) divides a sequence of GPUs among stages.
struct DeviceGroupLimits {
  // No group has less than this many times max(GPUs / stages, stages / GPUs).
  double min_scale = 1;
  // Groups are joined, smallest first, until so many units are left. Only the
  // units are permuted.
  int max_permute_len = 4;
};

// Calls `visit` for every order of group sizes that Metis looks at, in its
// order. Sizes are powers of two that add up to num_gpus. Each multiset of
// sizes has its orders one after the other. Stops once `visit` returns false.
// Pure.
void ForEachDeviceGroups(
    int num_gpus, int num_stages, const DeviceGroupLimits& limits,
    absl::FunctionRef<bool(const std::vector<int>&)> visit);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_DEVICE_GROUPS_H_
