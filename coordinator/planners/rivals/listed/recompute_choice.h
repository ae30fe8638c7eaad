#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_RECOMPUTE_CHOICE_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_RECOMPUTE_CHOICE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/domain/recompute_masks.h"
#include "coordinator/planners/registry/planner_options.h"

namespace tangram {

// The option "recompute" (none, full, auto) of planners that know no
// recomputation of their own. `automatic` describes auto: "the faster of none
// and full".
PlannerOption RecomputeOption(const std::string& automatic);

// Returns how the transformer layers of plans are recomputed, in the order in
// which to list these plans, for a value of that option. Not empty.
std::vector<LayerRecompute> RecomputesToTry(absl::string_view value);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_RECOMPUTE_CHOICE_H_
