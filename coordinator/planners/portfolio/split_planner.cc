#include "coordinator/planners/portfolio/split_planner.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/portfolio/combine_results.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"

namespace tangram {

absl::StatusOr<PlanResult> PlanWithSplits(const PlannerChoice& choice,
                                          SlicePlanSource& source,
                                          const PipelineRules& rules,
                                          const PlanRequest& request,
                                          PlanObserver& observer) {
  TANGRAM_ASSIGN_OR_RETURN(
      PlanResult best,
      CreateJudgedPlanner(choice, source, rules)->Plan(request, observer));
  if (!choice.planner->features.heterogeneous ||
      NamesIslands(request.constraints)) {
    return best;
  }
  const std::vector<IslandSplit> splits =
      IslandSplits(request.cluster, best.islands);
  PlanningStats stats = best.stats;
  std::vector<std::string> limits = best.limits;
  double lower_bound_s = 0;
  KeepLeastBound(best, lower_bound_s);
  std::optional<Certificate> scope;
  Widen(best, scope);
  for (const IslandSplit& split : splits) {
    PlannerChoice divided = choice;
    divided.search.split = split;
    TANGRAM_ASSIGN_OR_RETURN(
        PlanResult result,
        CreateJudgedPlanner(divided, source, rules)->Plan(request, observer));
    AddStats(result.stats, stats);
    AddLimits(result.limits, limits);
    KeepLeastBound(result, lower_bound_s);
    Widen(result, scope);
    if (IsBetter(result, best)) best = std::move(result);
  }
  best.stats = stats;
  if (!best.plan.has_value()) best.limits = std::move(limits);
  best.lower_bound_s = lower_bound_s;
  best.certificate = scope;
  if (!splits.empty()) {
    best.notes.push_back(absl::StrCat(
        "islands of several groups of nodes: planned as one, and divided in ",
        splits.size(), splits.size() == 1 ? " way" : " ways"));
  }
  return best;
}

}  // namespace tangram
