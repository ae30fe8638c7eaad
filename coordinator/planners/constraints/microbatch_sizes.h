#ifndef TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_MICROBATCH_SIZES_H_
#define TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_MICROBATCH_SIZES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// Returns the divisors of `n`, ascending, in O(√n) steps. `n` must be positive.
std::vector<int> DivisorsOf(int n);

// Returns the pipeline microbatch sizes to try for `request`, ascending: the
// one that it names, or every divisor of the global batch size. Errors:
// kInvalidArgument naming the field, for a batch outside 1 … kMaxBatch and for
// a size that does not divide it.
absl::StatusOr<std::vector<int>> MicrobatchSizes(const PlanRequest& request);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_MICROBATCH_SIZES_H_
