#include "coordinator/planners/portfolio/whole_search.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/anneal/anneal_among.h"
#include "coordinator/planners/anneal/anneal_problem.h"
#include "coordinator/planners/constraints/limit_islands.h"
#include "coordinator/planners/polish/demanded_schedule.h"
#include "coordinator/planners/polish/plan_climber.h"
#include "coordinator/planners/polish/polish_plan.h"
#include "coordinator/planners/polish/whole_plans.h"
#include "coordinator/planners/portfolio/nodes_by_name.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"

namespace tangram {
namespace {

using anneal::JudgedPlan;

std::set<int> IslandsIn(const PipelinePlan& plan) {
  std::set<int> islands;
  for (const PlacedStage& stage : plan.stages) islands.insert(stage.island);
  return islands;
}

// Makes the islands that the plan does not use those of `result`.
void SetUnused(const PipelinePlan& plan, PlanResult& result) {
  const std::set<int> used = IslandsIn(plan);
  std::erase_if(result.unused_islands, [&](const UnusedIsland& unused) {
    return used.contains(unused.island);
  });
  for (const Island& island : result.islands) {
    const bool is_listed = absl::c_any_of(
        result.unused_islands,
        [&](const UnusedIsland& unused) { return unused.island == island.id; });
    if (used.contains(island.id) || is_listed) continue;
    UnusedIsland& unused = result.unused_islands.emplace_back();
    unused.island = island.id;
    unused.reason = "the fastest plan found leaves it out";
  }
  absl::c_sort(result.unused_islands,
               [](const UnusedIsland& a, const UnusedIsland& b) {
                 return a.island < b.island;
               });
}

// Returns whether the plan of `found` is worth its islands.
bool IsWorthIt(const PlannerChoice& choice, const PolishedPlan& found,
               const PlanResult& result) {
  const std::set<int> before = IslandsIn(*result.plan);
  const bool adds = absl::c_any_of(IslandsIn(found.plan), [&](int island) {
    return !before.contains(island);
  });
  const double gain = adds ? choice.search.min_island_gain : 0;
  return found.evaluation.iteration_time_s * (1 + gain) <
         result.evaluation.iteration_time_s;
}

// The starts of all variants of the rules, and the least of one.
constexpr size_t kMostStarts = 96;
constexpr size_t kLeastStarts = 6;

// Adds the plans that fit, once settled, to `starts`, of the best so many.
absl::Status AddStarts(const PlanRequest& request, const PipelineRules& rules,
                       double limit_s, size_t most, PlanObserver& observer,
                       const PlanResult& result,
                       std::vector<JudgedPlan>& starts) {
  TANGRAM_ASSIGN_OR_RETURN(
      std::vector<PipelinePlan> plans,
      WholePlans(request, rules, result.islands, limit_s, observer));
  if (plans.size() > most) plans.resize(most);
  PlanClimber climber(request, rules, {*result.plan, result.evaluation},
                      observer);
  for (const PipelinePlan& plan : plans) {
    TANGRAM_ASSIGN_OR_RETURN(std::optional<PolishedPlan> landed,
                             climber.Settle(plan, PlanClimber::Effort::kHasty));
    if (!landed.has_value()) continue;
    for (PipelinePlan& other : OtherFits(request, rules, plan, *landed)) {
      TANGRAM_ASSIGN_OR_RETURN(
          std::optional<PolishedPlan> found,
          climber.Settle(std::move(other), PlanClimber::Effort::kHasty));
      if (!found.has_value()) continue;
      starts.push_back({std::move(found->plan), std::move(found->evaluation)});
    }
    starts.push_back({std::move(landed->plan), std::move(landed->evaluation)});
  }
  return absl::OkStatus();
}

// Returns the fastest plan that is found from `starts` on.
absl::StatusOr<PolishedPlan> BestFrom(const PlannerChoice& choice,
                                      const PlanRequest& request,
                                      const PipelineRules& rules,
                                      std::vector<JudgedPlan> starts,
                                      PlanObserver& observer,
                                      const PlanResult& result) {
  std::vector<Island> islands = result.islands;
  TANGRAM_ASSIGN_OR_RETURN(const IslandRules allowed,
                           LimitIslands(request, rules, islands));
  const anneal::AnnealProblem problem{
      .request = request,
      .rules = rules,
      .islands = result.islands,
      .usable = allowed.usable,
      .changes_schedule = choice.search.schedules &&
                          !DemandedSchedule(request.constraints).has_value(),
      .least_measured = LeastMeasured({*result.plan, result.evaluation})};
  TANGRAM_ASSIGN_OR_RETURN(
      JudgedPlan annealed,
      anneal::AnnealAmong(problem, std::move(starts), observer));
  return PolishPlan(request, rules, Reach::kNear,
                    {std::move(annealed.plan), std::move(annealed.evaluation)},
                    observer);
}

// Returns the fastest plan from that of `result` and whole plans on. Empty: all
// are too slow to be annealed.
absl::StatusOr<std::optional<PolishedPlan>> FindWhole(
    const PlannerChoice& choice, const PlanRequest& request,
    const WholeSearch& search, PlanObserver& observer,
    const PlanResult& result) {
  std::vector<JudgedPlan> starts = {{*result.plan, result.evaluation}};
  const double limit_s =
      std::min(search.limit_s, result.evaluation.iteration_time_s);
  std::vector<PipelineRules> variants = search.variants;
  if (variants.empty()) variants.push_back(search.rules);
  const size_t most = std::max(kLeastStarts, kMostStarts / variants.size());
  for (const PipelineRules& rules : variants) {
    TANGRAM_RETURN_IF_ERROR(
        AddStarts(request, rules, limit_s, most, observer, result, starts));
  }
  if (absl::c_none_of(starts, [&](const JudgedPlan& start) {
        return start.evaluation.iteration_time_s <= search.worth_annealing_s;
      })) {
    return std::nullopt;
  }
  return BestFrom(choice, request, search.rules, std::move(starts), observer,
                  result);
}

// Returns the request on the islands that `plan` uses. Empty: it leaves out
// none of those that it might use.
absl::StatusOr<std::optional<PlanRequest>> OnItsIslands(
    const PlanRequest& request, const PipelineRules& rules,
    std::vector<Island> islands, const PipelinePlan& plan) {
  TANGRAM_ASSIGN_OR_RETURN(const IslandRules all,
                           LimitIslands(request, rules, islands));
  PlanRequest narrower = request;
  uint32_t used = 0;
  for (const int island : IslandsIn(plan)) used |= uint32_t{1} << island;
  for (const Island& island : islands) {
    if (((all.usable & ~used) >> island.id & 1) == 0) continue;
    narrower.constraints.exclude_islands.push_back(absl::StrCat(island.id));
  }
  const absl::StatusOr<IslandRules> left =
      LimitIslands(narrower, rules, islands);
  // The number of an island may be the name of the group of others, which then
  // are excluded too, perhaps all.
  if (!left.ok() || left->usable == all.usable || (used & ~left->usable) != 0) {
    return std::nullopt;
  }
  return narrower;
}

// Returns whether the problem would be small on the islands of the plan alone.
bool IsSmallOnItsIslands(const PlanRequest& request, const PlanResult& result) {
  int num_gpus = 0;
  for (const int island : IslandsIn(*result.plan)) {
    num_gpus += result.islands[island].spec.num_gpus();
  }
  return IsSmallProblem(num_gpus, request.model.num_layers());
}

// Finds a whole plan that is worth it. Searches again on fewer islands while
// the best plan leaves islands out, so that islands of no use lead no search
// astray. `best` is the result so far; its plan becomes the fastest.
absl::Status FindOnFewerIslands(const PlannerChoice& choice,
                                PlanRequest request, const WholeSearch& search,
                                PlanObserver& observer, PlanResult& best) {
  while (true) {
    TANGRAM_ASSIGN_OR_RETURN(
        std::optional<PolishedPlan> found,
        FindWhole(choice, request, search, observer, best));
    if (found.has_value() && IsWorthIt(choice, *found, best)) {
      observer.OnBest(found->evaluation.iteration_time_s);
      best.plan = std::move(found->plan);
      best.evaluation = std::move(found->evaluation);
    }
    TANGRAM_ASSIGN_OR_RETURN(
        std::optional<PlanRequest> narrower,
        OnItsIslands(request, search.rules, best.islands, *best.plan));
    if (!narrower.has_value()) return absl::OkStatus();
    request = *std::move(narrower);
  }
}

// Makes the plan that of `result`.
void Take(PolishedPlan found, PlanResult& result) {
  const double found_s = found.evaluation.iteration_time_s;
  result.notes.push_back(absl::StrFormat(
      "whole plans were searched too: %.1f %% faster",
      100 * (result.evaluation.iteration_time_s / found_s - 1)));
  SetUnused(found.plan, result);
  result.plan = std::move(found.plan);
  result.evaluation = std::move(found.evaluation);
  // It need not be a composition of slice plans.
  result.lower_bound_s = std::min(result.lower_bound_s, found_s);
}

bool MaySearchWhole(const PlannerChoice& choice, const PlanRequest& request) {
  const bool is_polished = choice.searches_whole &&
                           choice.planner->features.heterogeneous &&
                           choice.search.polish && choice.search.polishes_far;
  // Whole plans are of 1F1B until they are annealed.
  return is_polished && !DemandsRescheduling(request.constraints);
}

}  // namespace

bool IsSearchedWhole(const PlannerChoice& choice, const PlanRequest& request) {
  if (!MaySearchWhole(choice, request)) return false;
  const absl::StatusOr<std::vector<int>> left_out =
      ExcludedNodes(request.constraints, request.cluster);
  if (!left_out.ok()) return false;  // Planning says why.
  int num_gpus = request.cluster->num_gpus();
  for (const int node : *left_out) {
    num_gpus -= request.cluster->nodes[node].num_gpus;
  }
  return IsSmallProblem(num_gpus, request.model.num_layers());
}

bool IsSearchedWhole(const PlannerChoice& choice, const PlanRequest& request,
                     const PlanResult& result) {
  return result.plan.has_value() && MaySearchWhole(choice, request) &&
         (IsSearchedWhole(choice, request) ||
          IsSmallOnItsIslands(request, result));
}

absl::Status SearchWhole(const PlannerChoice& choice,
                         const PlanRequest& request, const WholeSearch& search,
                         PlanObserver& observer, PlanResult& result) {
  if (!IsSearchedWhole(choice, request, result)) return absl::OkStatus();
  observer.OnPhase(PlanPhase::kEvaluation);
  const NodesByName names(*request.cluster);
  PlanRequest sorted_request = request;
  PlanResult sorted = result;
  names.Sort(sorted_request.cluster.MakeOwn());
  names.Sort(sorted.islands);
  names.Sort(*sorted.plan);
  if (!IsSearchedWhole(choice, request)) {
    TANGRAM_ASSIGN_OR_RETURN(std::optional<PlanRequest> part,
                             OnItsIslands(sorted_request, search.rules,
                                          sorted.islands, *sorted.plan));
    if (!part.has_value()) return absl::OkStatus();
    sorted_request = *std::move(part);
  }
  TANGRAM_RETURN_IF_ERROR(FindOnFewerIslands(choice, std::move(sorted_request),
                                             search, observer, sorted));
  if (sorted.evaluation.iteration_time_s < result.evaluation.iteration_time_s) {
    names.Restore(*sorted.plan);
    Take({*std::move(sorted.plan), std::move(sorted.evaluation)}, result);
  }
  return absl::OkStatus();
}

}  // namespace tangram
