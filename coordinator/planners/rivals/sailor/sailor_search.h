#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_SAILOR_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_SAILOR_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "coordinator/planners/rivals/sailor/sailor_input.h"

namespace tangram::sailor {

struct Found {
  std::vector<Plan> plans;  // Best first.
  int64_t steps = 0;        // Mixes of GPU types looked at.
  bool truncated = false;   // Ended at Settings::most_steps.
  // Whether some type has memory for all stages of some pipeline.
  bool fits_memory = false;
};

// Searches as Sailor does (§4): for every number of stages, size of microbatch
// and order of regions, the dp degrees from many to few as long as the plans
// become better, each by the dynamic program of StageSearch. Layers are split
// evenly, and each GPU type has one tp degree a stage.
//
// With Settings::most_dollars, a plan that costs more is replaced by the
// cheapest with these degrees, and dropped if that costs more too; likewise for
// Settings::longest_s and the fastest.
//
// Errors: kInvalidArgument (see CheckInput, CheckSettings, RegionsOf), and
// kCancelled once should_stop, polled, returns true.
absl::StatusOr<Found> Search(const Input& input, const Settings& settings,
                             absl::FunctionRef<bool()> should_stop);

}  // namespace tangram::sailor

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_SAILOR_SEARCH_H_
