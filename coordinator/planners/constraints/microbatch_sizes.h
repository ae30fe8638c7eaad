#ifndef TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_MICROBATCH_SIZES_H_
#define TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_MICROBATCH_SIZES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// The divisors of `n`, ascending. Takes √n steps. `n` must be positive.
std::vector<int> DivisorsOf(int n);

// The pipeline microbatch sizes that `request` asks to try, ascending: the one
// it names, or every divisor of the global batch size.
// kInvalidArgument, with the field named, for a batch that is not in 1 …
// kMaxBatch and for a size that does not divide it.
absl::StatusOr<std::vector<int>> MicrobatchSizes(const PlanRequest& request);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_CONSTRAINTS_MICROBATCH_SIZES_H_
