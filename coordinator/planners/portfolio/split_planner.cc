#include "coordinator/planners/portfolio/split_planner.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/polish/polish_result.h"
#include "coordinator/planners/portfolio/combine_results.h"
#include "coordinator/planners/portfolio/judged_choice.h"
#include "coordinator/planners/portfolio/narrower_requests.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "coordinator/planners/portfolio/whole_search.h"

namespace tangram {
namespace {

// The plans of narrower requests that are polished by large changes are slower
// by at most this fraction than the best. Such changes made plans of tiny
// problems 40 % faster.
constexpr double kWorthPolishingFar = 0.4;

// The most of them.
constexpr size_t kMostPolishedFar = 6;

// Plans one request in several ways, and keeps the fastest plan.
class Ways {
 public:
  Ways(const PlannerChoice& choice, SlicePlanSource& source,
       const PipelineRules& rules, PlanObserver& observer)
      : choice_(choice), source_(source), rules_(rules), observer_(observer) {}

  absl::Status Plan(const PlanRequest& request) {
    TANGRAM_ASSIGN_OR_RETURN(best_,
                             CreateJudgedPlanner(choice_, source_, rules_)
                                 ->Plan(request, observer_));
    stats_ = best_.stats;
    limits_ = best_.limits;
    KeepLeastBound(best_, lower_bound_s_);
    Widen(best_, scope_);
    return absl::OkStatus();
  }

  // Plans again, with the islands divided along groups of nodes.
  absl::Status Divide(const PlanRequest& request) {
    const std::vector<IslandSplit> splits =
        IslandSplits(request.cluster, best_.islands);
    for (const IslandSplit& split : splits) {
      PlannerChoice divided = choice_;
      divided.search.split = split;
      TANGRAM_ASSIGN_OR_RETURN(PlanResult result,
                               CreateJudgedPlanner(divided, source_, rules_)
                                   ->Plan(request, observer_));
      Count(result);
      Keep(std::move(result), "");
    }
    if (!splits.empty()) {
      notes_.push_back(absl::StrCat(
          "islands of several groups of nodes: planned as one, and divided in ",
          splits.size(), splits.size() == 1 ? " way" : " ways"));
    }
    return absl::OkStatus();
  }

  // Plans again for narrower requests, with small changes. The best of these
  // plans are then changed as the request allows.
  absl::Status Narrow(const PlanRequest& request) {
    const std::vector<NarrowerRequest> narrower =
        NarrowerRequests(request, best_.islands);
    PlannerChoice near = choice_;
    near.search.polishes_far = false;
    PipelineRules rules = rules_;
    rules.incumbent_s = std::min(
        rules.incumbent_s, IncumbentSeconds(best_) * (1 + kWorthPolishingFar));
    std::vector<std::pair<PlanResult, std::string>> found;
    for (const NarrowerRequest& one : narrower) {
      TANGRAM_ASSIGN_OR_RETURN(PlanResult result,
                               CreateJudgedPlanner(near, source_, rules)
                                   ->Plan(one.request, observer_));
      Count(result);
      if (!result.plan.has_value()) continue;
      found.emplace_back(std::move(result), one.what);
    }
    absl::c_stable_sort(found, [](const auto& a, const auto& b) {
      return IsBetter(a.first, b.first);
    });
    size_t num_polished = 0;
    double last_s = 0;
    for (auto& [result, what] : found) {
      const double seconds = result.evaluation.iteration_time_s;
      // Equally fast plans are likely the same.
      if (seconds == last_s) continue;
      if (num_polished == kMostPolishedFar || !IsWorthPolishing(result)) break;
      last_s = seconds;
      ++num_polished;
      TANGRAM_RETURN_IF_ERROR(PolishResult(
          request, rules_, FurthestReach(choice_), observer_, result));
      KeepLeastBound(result, lower_bound_s_);
      Keep(std::move(result), absl::StrCat("the plan was found ", what));
    }
    return absl::OkStatus();
  }

  PlanResult Best() && {
    best_.stats = stats_;
    if (!best_.plan.has_value()) best_.limits = std::move(limits_);
    best_.lower_bound_s = lower_bound_s_;
    best_.certificate = scope_;
    if (!how_.empty()) best_.notes.push_back(std::move(how_));
    absl::c_move(notes_, std::back_inserter(best_.notes));
    return std::move(best_);
  }

 private:
  bool IsWorthPolishing(const PlanResult& result) const {
    return !best_.plan.has_value() ||
           result.evaluation.iteration_time_s <=
               best_.evaluation.iteration_time_s * (1 + kWorthPolishingFar);
  }

  void Count(const PlanResult& result) {
    AddStats(result.stats, stats_);
    AddLimits(result.limits, limits_);
    KeepLeastBound(result, lower_bound_s_);
    Widen(result, scope_);
  }

  void Keep(PlanResult result, std::string how) {
    if (!IsBetter(result, best_)) return;
    best_ = std::move(result);
    how_ = std::move(how);
  }

  const PlannerChoice& choice_;
  SlicePlanSource& source_;
  const PipelineRules& rules_;
  PlanObserver& observer_;
  PlanResult best_;
  std::string how_;  // How the best plan was found.
  PlanningStats stats_;
  std::vector<std::string> limits_;
  std::vector<std::string> notes_;
  double lower_bound_s_ = 0;
  std::optional<Certificate> scope_;
};

}  // namespace

absl::StatusOr<PlanResult> PlanWithSplits(const PlannerChoice& choice,
                                          SlicePlanSource& source,
                                          const PipelineRules& rules,
                                          const PlanRequest& request,
                                          PlanObserver& observer) {
  // Far changes of small problems are for their whole plans.
  PlannerChoice near = choice;
  near.search.polishes_far &= !IsSearchedWhole(choice, request);
  Ways ways(near, source, rules, observer);
  TANGRAM_RETURN_IF_ERROR(ways.Plan(request));
  if (choice.planner->features.heterogeneous &&
      !NamesIslands(request.constraints)) {
    TANGRAM_RETURN_IF_ERROR(ways.Divide(request));
    // Polishing is the effort that a plan is worth beyond the composition.
    if (near.search.polish && near.search.polishes_far) {
      TANGRAM_RETURN_IF_ERROR(ways.Narrow(request));
    }
  }
  return std::move(ways).Best();
}

}  // namespace tangram
