#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PORTFOLIO_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PORTFOLIO_PLANNER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/runtime_catalogue.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// A parallelizer and its source of slice plans.
struct PortfolioMember {
  std::string parallelizer;
  SlicePlanSource* source = nullptr;  // Must outlive the planner.
};

// The members that a search asks.
enum class MembersAsked {
  kAll,  // Somebody named them.
  // Nobody named them: those that suit the model and the runtime of the search.
  kSuitable,
};

// The parallelizer whose search is the shortest, as it gives all stages of a
// slice equal degrees. Unless somebody named the members, its plan limits the
// searches of others, and is the answer if it is the fastest.
inline constexpr absl::string_view kScout = "uniform";

// Returns a planner that runs the chosen planner with each member alone. If
// that planner mixes parallelizers, it also runs with mixes of their slice
// plans: one mix for each runtime that no other runtime covers. The fastest
// plan is the answer, so several parallelizers are never worse than the best of
// them.
//
// A member that does not know the model is left out. A member that cuts it into
// other atoms than the first one is left out of mixes.
//
// A planner that asks no parallelizer plans once and needs no members. It
// refuses constraints that it does not meet.
//
// For a runtime, see PlanForRuntime; for runtime auto, PlanForAnyRuntime.
// Without a runtime, plans for runtimes count too: PlanOfAnyKind.
//
// `runtimes` must outlive the planner. Every mix asks its questions again, so
// sources should cache answers.
std::unique_ptr<ClusterPlanner> CreatePortfolioPlanner(
    std::vector<PortfolioMember> members, PlannerChoice choice,
    const RuntimeCatalogue& runtimes, MembersAsked asked = MembersAsked::kAll);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PORTFOLIO_PLANNER_H_
