#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_COMBINE_RESULTS_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_COMBINE_RESULTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/planner/cluster_planner.h"

// Functions that combine the results of several searches for one request.
namespace tangram {

// Adds the counts of `more` to `sum`.
void AddStats(const PlanningStats& more, PlanningStats& sum);

// Returns whether `a` is better than `b`. Both are results of a judge, so their
// plans fit. A plan beats none, and a faster plan beats a slower one. Without
// plans, the closer reason wins (IsCloser).
bool IsBetter(const PlanResult& a, const PlanResult& b);

// Returns the summary of one search for the answer.
PlanAlternative AlternativeOf(const PlanResult& result,
                              std::vector<std::string> parallelizers,
                              absl::string_view runtime);

// Returns the time, in seconds, of plans that another search for the same
// request need not look for: a tenth more than that of this plan by closed form
// or as judged. A plan may be so much faster than the closed form by which it
// is found. Infinite if there is no plan.
double IncumbentSeconds(const PlanResult& result);

// Adds the limits of `more` that `limits` lacks, in order.
void AddLimits(absl::Span<const std::string> more,
               std::vector<std::string>& limits);

// Returns the reason of a result without a plan, with the limits that may hide
// one: "does not fit; a plan may exist: ...".
std::string WhyNone(const PlanResult& result);

// Widens `scope`, of the searches so far, by that of another search, with a
// plan or without.
void Widen(const PlanResult& result, std::optional<Certificate>& scope);

// Keeps in `lower_bound_s` the least bound of the results with a plan, in
// seconds; 0: no result had a plan yet.
void KeepLeastBound(const PlanResult& result, double& lower_bound_s);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_COMBINE_RESULTS_H_
