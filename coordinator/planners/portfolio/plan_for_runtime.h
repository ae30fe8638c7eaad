#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PLAN_FOR_RUNTIME_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PLAN_FOR_RUNTIME_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/infinity.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/runtime_catalogue.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// Returns all that keeps `runtime` from every plan for the request: its model,
// its training options and the GPUs of its cluster. OK: there may be a plan.
absl::Status CheckRuntime(const PlanningRuntime& runtime,
                          const PlanRequest& request);

// Returns whether memory may be so scarce that the scout, or seeds, make no
// good pipeline where all slice plans make one. On many GPUs, it seldom is.
bool HasFewGpus(const PlanRequest& request);

// The members that a search for a runtime asks, and how long its plan may take.
struct RuntimeMembers {
  std::vector<PortfolioMember> members;  // None: the scout's plan is enough.
  // Plans that are judged to take longer, in seconds, are not looked for.
  double incumbent_s = kInfinity;
  // Members whose seeds make no plan up to the incumbent are asked for all
  // slice plans if the scout's plan takes at most so long, in seconds, or no
  // longer than the incumbent.
  double most_scouted_s = 0;
  // Plans that take longer, in seconds, are not polished.
  double worth_polishing_s = kInfinity;
  // Plans that take longer, in seconds, are not polished by large changes.
  double worth_leaping_s = kInfinity;
};

// A search for the plans that one runtime can run. There is one search for each
// value of the properties that all stages of the runtime share. Every whole
// plan is scored in the form that the runtime exports. So the plan is exported
// without loss, with the training options in PlanResult::training. All
// arguments must outlive the search. Not thread-safe.
class RuntimeSearch {
 public:
  RuntimeSearch(const PlanningRuntime& runtime, const PlannerChoice& choice,
                const PlanRequest& request, PlanObserver& observer);
  ~RuntimeSearch();
  RuntimeSearch(RuntimeSearch&& other) noexcept;
  RuntimeSearch& operator=(RuntimeSearch&& other) noexcept;

  // Returns whether there is one search for each value of the degrees of all
  // stages. Such searches are short.
  absl::StatusOr<bool> FixesDegrees(SlicePlanSource& scout);
  // Asks a parallelizer that answers fast. Its plans limit the search of the
  // members and say where that begins. Plans that are judged to take longer
  // than `incumbent_s` are not looked for. Call it before Finish, and again
  // only while there is no plan.
  absl::Status Scout(SlicePlanSource& scout, double incumbent_s = kInfinity);
  // Returns the time in seconds of the scout's best plan. Infinite: none.
  double scouted_s() const;

  // Returns the best plan from the slice plans of all members or those of the
  // scout. Call it once, with members if there was no scout.
  absl::StatusOr<PlanResult> Finish(const RuntimeMembers& asked);
  // Returns by which factor plans of 1F1B of the members were faster than the
  // scout's. It is large where memory is scarce. 1: they brought nothing.
  double members_brought() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

// Returns the best plan that `runtime` can run, from the slice plans of all
// members or those of the scout, which may be null.
absl::StatusOr<PlanResult> PlanForRuntime(
    const std::vector<PortfolioMember>& members, SlicePlanSource* scout,
    const PlannerChoice& choice, const PlanningRuntime& runtime,
    const PlanRequest& request, PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PLAN_FOR_RUNTIME_H_
