#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_WHOLE_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_WHOLE_SEARCH_H_

#include <vector>

#include "absl/status/status.h"
#include "common/base/infinity.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// Returns whether the request is so small that whole plans are searched.
bool IsSearchedWhole(const PlannerChoice& choice, const PlanRequest& request);

// Returns whether SearchWhole searches: the request is so small, or is on
// the islands of the plan of `result` alone.
bool IsSearchedWhole(const PlannerChoice& choice, const PlanRequest& request,
                     const PlanResult& result);

// The rules that whole plans obey, and how long they may take.
struct WholeSearch {
  PipelineRules rules;
  // Narrower rules, each with a search of its own. None: only `rules`.
  std::vector<PipelineRules> variants;
  // Plans that take longer, in seconds and before they are polished, are not
  // looked for, nor annealed.
  double limit_s = kInfinity;
  double worth_annealing_s = kInfinity;
};

// Searches whole plans of a small problem (WholePlans), anneals the best of
// them and the plan of `result`, and keeps the fastest there. A problem that is
// small on the islands of that plan alone is searched on these. Does nothing
// unless IsSearchedWhole. A plan on more islands must gain
// SearchOptions::min_island_gain. The islands of `result` must be those of the
// request. Errors: those of WholePlans.
absl::Status SearchWhole(const PlannerChoice& choice,
                         const PlanRequest& request, const WholeSearch& search,
                         PlanObserver& observer, PlanResult& result);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_WHOLE_SEARCH_H_
