#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PLAN_FOR_ANY_RUNTIME_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PLAN_FOR_ANY_RUNTIME_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/runtime_catalogue.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

// The parts of PlanForAnyRuntime. All must outlive the call.
struct AnyRuntimeSearch {
  const PlannerChoice& choice;
  const RuntimeCatalogue& runtimes;
  // Returns the members that a search asks if parallelizers of these names suit
  // it. An error if there are none.
  absl::FunctionRef<absl::StatusOr<std::vector<PortfolioMember>>(
      absl::Span<const std::string> suitable)>
      asked;
  // RuntimeMembers::scout of all searches.
  SlicePlanSource* scout;
  // Plans without a runtime, with those of the parallelizers that `asked`
  // returns. Plans that take longer than `incumbent_s` are of no use.
  absl::FunctionRef<absl::StatusOr<PlanResult>(
      const PlanRequest&, absl::Span<const std::string> suitable,
      double incumbent_s)>
      plan_freely;
};

// Returns the fastest plan that at least one runtime can run. The scout tries
// every runtime. Then each for which it found a plan nearly as fast as the best
// is searched by all parallelizers that suit it, for plans faster than the best
// so far. Ties go to the runtime for which the scout was the fastest.
//
// PlanResult::alternatives has one entry for each runtime, and a last one,
// kAnyRuntime, for plans of any kind, which are looked for last and only if
// they are faster. If there is one, the reason says why the runtime of the
// answer does not run it. Before the answer is that nothing fits, every
// parallelizer that some runtime knows was asked for a plan of any kind. If
// plans fit but no runtime runs one, the answer lists the reasons; if none
// fits, it is that for plans of any kind.
absl::StatusOr<PlanResult> PlanForAnyRuntime(const AnyRuntimeSearch& search,
                                             const PlanRequest& request,
                                             PlanObserver& observer);

// Returns the fastest plan of any kind: of those that `plan_freely` finds and
// those of PlanForAnyRuntime, which is played with the training options of the
// request. So it is slower than that of PlanForAnyRuntime only if the runtime
// of that one trains less than was asked for.
absl::StatusOr<PlanResult> PlanOfAnyKind(const AnyRuntimeSearch& search,
                                         const PlanRequest& request,
                                         PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PLAN_FOR_ANY_RUNTIME_H_
