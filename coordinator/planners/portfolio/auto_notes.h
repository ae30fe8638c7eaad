#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_AUTO_NOTES_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_AUTO_NOTES_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/runtime_catalogue.h"

namespace tangram {

// Returns the notes on an answer of runtime auto, which is a plan for `chosen`:
// how many of the runtimes that were searched have a plan, which were not
// searched, and what to do if `chosen` reads no data of the user.
// `alternatives` are those of the answer.
std::vector<std::string> AutoNotes(
    const PlanningRuntime& chosen,
    absl::Span<const PlanAlternative> alternatives,
    const RuntimeCatalogue& runtimes);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_AUTO_NOTES_H_
