#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_COMBINE_RESULTS_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_COMBINE_RESULTS_H_

#include <optional>

#include "common/planner/cluster_planner.h"

// What several searches for one request are put together with.
namespace tangram {

void AddStats(const PlanningStats& more, PlanningStats& sum);

// A plan is better than none, one that fits than one that does not, a faster
// one than a slower one, less memory missing than more.
bool IsBetter(const PlanResult& a, const PlanResult& b);

// Keeps in `lower_bound_s` the least bound of those that have a plan; 0: none
// had one yet.
void KeepLeastBound(const PlanResult& result, double& lower_bound_s);

// Keeps in `closest` what came closest to a plan: fewest bytes short, any that
// lacks none last.
void KeepClosest(const std::optional<Infeasible>& other,
                 std::optional<Infeasible>& closest);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_COMBINE_RESULTS_H_
