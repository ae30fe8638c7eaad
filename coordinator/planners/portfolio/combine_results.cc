#include "coordinator/planners/portfolio/combine_results.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/infinity.h"
#include "common/planner/keep_closest.h"

namespace tangram {
namespace {

// See IncumbentSeconds.
constexpr double kFasterThanFound = 0.1;

}  // namespace

void AddStats(const PlanningStats& more, PlanningStats& sum) {
  sum.pairs += more.pairs;
  sum.pruned_redundant += more.pruned_redundant;
  sum.pruned_imbalanced += more.pruned_imbalanced;
  sum.pruned_incompatible += more.pruned_incompatible;
  sum.pruned_infeasible += more.pruned_infeasible;
  sum.queries += more.queries;
  sum.requeries += more.requeries;
  sum.infeasible_answers += more.infeasible_answers;
  sum.slice_plans += more.slice_plans;
  sum.incompatible_plans += more.incompatible_plans;
  sum.search_steps += more.search_steps;
  sum.compositions += more.compositions;
  sum.finalists += more.finalists;
  sum.truncated |= more.truncated;
}

bool IsBetter(const PlanResult& a, const PlanResult& b) {
  if (a.plan.has_value() != b.plan.has_value()) return a.plan.has_value();
  if (!a.plan.has_value()) return IsCloser(*a.infeasible, *b.infeasible);
  return a.evaluation.iteration_time_s < b.evaluation.iteration_time_s;
}

PlanAlternative AlternativeOf(const PlanResult& result,
                              std::vector<std::string> parallelizers,
                              absl::string_view runtime) {
  PlanAlternative alternative{.parallelizers = std::move(parallelizers),
                              .runtime = std::string(runtime)};
  if (result.plan.has_value()) {
    alternative.iteration_time_s = result.evaluation.iteration_time_s;
  } else if (result.infeasible.has_value()) {
    alternative.reason = WhyNone(result);
  }
  return alternative;
}

double IncumbentSeconds(const PlanResult& result) {
  if (!result.plan.has_value()) return kInfinity;
  return (1 + kFasterThanFound) *
         std::max(result.closed_form_s, result.evaluation.iteration_time_s);
}

void AddLimits(absl::Span<const std::string> more,
               std::vector<std::string>& limits) {
  for (const std::string& limit : more) {
    if (!absl::c_linear_search(limits, limit)) limits.push_back(limit);
  }
}

std::string WhyNone(const PlanResult& result) {
  const std::string& reason = result.infeasible->reason;
  if (result.limits.empty()) return reason;
  return absl::StrCat(
      reason, "; a plan may exist: ", absl::StrJoin(result.limits, "; "));
}

// Without a bound for one of the searches, there is none for all.
void Widen(const PlanResult& result, std::optional<Certificate>& scope) {
  if (!result.certificate.has_value()) return;
  if (!scope.has_value()) scope = *result.certificate;
  scope->asked_s = std::min(scope->asked_s, result.certificate->asked_s);
}

void KeepLeastBound(const PlanResult& result, double& lower_bound_s) {
  if (!result.plan.has_value()) return;
  lower_bound_s = lower_bound_s == 0
                      ? result.lower_bound_s
                      : std::min(lower_bound_s, result.lower_bound_s);
}

}  // namespace tangram
