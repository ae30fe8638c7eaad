#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_LISTED_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_LISTED_SEARCH_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/slice_plan.h"
#include "common/planner/planner.h"
#include "coordinator/planners/registry/planner_options.h"
#include "coordinator/planners/tangram/tangram_options.h"

namespace tangram {

// The whole answer of a planner that searches at once and ranks its plans by
// its own estimate.
struct ListedPlans {
  // Best first, as the planner ranks them. Use Proposal::make_plan for long
  // lists.
  std::vector<Proposal> proposals;
  std::vector<std::string> notes;
  std::vector<std::string> limits;     // See PlanFindings::limits.
  std::optional<Infeasible> why_none;  // If there are no proposals.
};

// Returns the islands by which rivals name the places of their stages: all
// nodes that constraints do not exclude, grouped as Tangram groups them with
// its usual tolerances. Errors: kInvalidArgument for a cluster without nodes.
absl::StatusOr<std::vector<Island>> IslandsToShow(const PlanRequest& request,
                                                  PlanObserver& observer);

// Sets PlacedStage::island and made_by of every stage. A stage over several
// islands has that of its first GPU.
void NamePlaces(const std::vector<Island>& islands, const std::string& planner,
                PipelinePlan& plan);

// Returns a search that proposes the plans one by one in their order, until one
// fits. So the answer is what the user of that planner would run: the first of
// its plans that the judge does not refuse.
std::unique_ptr<PlanSearch> ProposeInOrder(std::vector<Island> islands,
                                           ListedPlans plans);

// Returns a search that proposes all plans at once, so that the judge chooses.
std::unique_ptr<PlanSearch> ProposeAtOnce(std::vector<Island> islands,
                                          ListedPlans plans);

// Returns a planner that lists its plans for a request and the islands of
// `find`, and proposes them with ProposeInOrder or ProposeAtOnce. `list` asks
// the observer whether to stop; its errors are those of Planner::Start.
using ListPlans = std::function<absl::StatusOr<ListedPlans>(
    const PlanRequest& request, const std::vector<Island>& islands,
    PlanObserver& observer)>;
using ProposePlans = std::unique_ptr<PlanSearch> (*)(std::vector<Island>,
                                                     ListedPlans);
using FindIslands = absl::StatusOr<std::vector<Island>> (*)(const PlanRequest&,
                                                            PlanObserver&);
std::unique_ptr<Planner> CreateListedPlanner(ListPlans list,
                                             ProposePlans propose,
                                             FindIslands find = IslandsToShow);

// PlannerInfo::apply of planners whose answer is the plan that they made.
inline void ProposeUnpolished(const PlannerOptionValues& /*options*/,
                              TangramOptions& search) {
  search.polish = false;
}

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_LISTED_LISTED_SEARCH_H_
