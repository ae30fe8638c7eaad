#ifndef TANGRAM_COMMON_PLANNER_FASTEST_ON_OWN_DATA_H_
#define TANGRAM_COMMON_PLANNER_FASTEST_ON_OWN_DATA_H_

#include "absl/types/span.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/runtime_catalogue.h"

namespace tangram {

// Returns the entry with the fastest plan among those of runtimes that train on
// the user's data; the first of equally fast ones. Null: none of these has a
// plan.
const PlanAlternative* FastestOnOwnData(
    absl::Span<const PlanAlternative> alternatives,
    const RuntimeCatalogue& runtimes);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_FASTEST_ON_OWN_DATA_H_
