#include "coordinator/planners/rivals/listed/listed_search.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/islands/build_islands.h"
#include "coordinator/planners/constraints/resolve_constraints.h"

namespace tangram {
namespace {

class ListedSearch : public PlanSearch {
 public:
  ListedSearch(std::vector<Island> islands, ListedPlans plans, size_t at_once)
      : islands_(std::move(islands)),
        plans_(std::move(plans)),
        at_once_(at_once) {}

  absl::StatusOr<std::vector<Proposal>> Propose(
      absl::Span<const Refusal> /*refused*/) override {
    std::vector<Proposal> proposals;
    const size_t left = plans_.proposals.size() - next_;
    for (size_t i = 0; i < std::min(left, at_once_); ++i) {
      proposals.push_back(std::move(plans_.proposals[next_++]));
    }
    return proposals;
  }

  absl::StatusOr<PlanFindings> Conclude(const Judgement& judgement) override {
    if (at_once_ == 1 && judgement.chosen > 0) {
      plans_.notes.push_back(
          absl::StrCat("plans that the planner ranks above this one and that "
                       "do not fit: ",
                       judgement.chosen));
    }
    return PlanFindings{.islands = std::move(islands_),
                        .stats = {.finalists = static_cast<int64_t>(next_)},
                        .notes = std::move(plans_.notes),
                        .why_none = std::move(plans_.why_none),
                        .exhausted = plans_.limits.empty(),
                        .limits = std::move(plans_.limits)};
  }

 private:
  std::vector<Island> islands_;
  ListedPlans plans_;
  const size_t at_once_;
  size_t next_ = 0;  // Index of the next proposal.
};

class ListedPlanner : public Planner {
 public:
  ListedPlanner(ListPlans list, ProposePlans propose, FindIslands find)
      : list_(std::move(list)), propose_(propose), find_(find) {}

  absl::StatusOr<std::vector<Island>> Islands(const PlanRequest& request,
                                              PlanObserver& observer) override {
    return find_(request, observer);
  }

  absl::StatusOr<std::unique_ptr<PlanSearch>> Start(
      const PlanRequest& request, PlanObserver& observer) override {
    observer.OnPhase(PlanPhase::kIslands);
    TANGRAM_ASSIGN_OR_RETURN(std::vector<Island> islands,
                             find_(request, observer));
    TANGRAM_ASSIGN_OR_RETURN(ListedPlans plans,
                             list_(request, islands, observer));
    if (observer.ShouldStop()) return absl::CancelledError("planning stopped");
    return propose_(std::move(islands), std::move(plans));
  }

 private:
  const ListPlans list_;
  const ProposePlans propose_;
  const FindIslands find_;
};

}  // namespace

absl::StatusOr<std::vector<Island>> IslandsToShow(const PlanRequest& request,
                                                  PlanObserver& observer) {
  if (request.cluster->nodes.empty()) {
    return absl::InvalidArgumentError("cluster.nodes: none; expected a node");
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> left_out,
                           ExcludedNodes(request.constraints, request.cluster));
  TANGRAM_ASSIGN_OR_RETURN(
      IslandSet set,
      BuildIslands(request.cluster, request.training.precision, {}, left_out,
                   {.should_stop = [&] { return observer.ShouldStop(); }}));
  return std::move(set.islands);
}

void NamePlaces(const std::vector<Island>& islands, const std::string& planner,
                PipelinePlan& plan) {
  for (PlacedStage& stage : plan.stages) {
    stage.made_by = planner;
    for (const Island& island : islands) {
      for (const int node : island.nodes) {
        if (!stage.gpus.empty() && stage.gpus.front().node == node) {
          stage.island = island.id;
        }
      }
    }
  }
}

std::unique_ptr<PlanSearch> ProposeInOrder(std::vector<Island> islands,
                                           ListedPlans plans) {
  return std::make_unique<ListedSearch>(std::move(islands), std::move(plans),
                                        /*at_once=*/1);
}

std::unique_ptr<PlanSearch> ProposeAtOnce(std::vector<Island> islands,
                                          ListedPlans plans) {
  const size_t all = plans.proposals.size();
  return std::make_unique<ListedSearch>(std::move(islands), std::move(plans),
                                        all);
}

std::unique_ptr<Planner> CreateListedPlanner(ListPlans list,
                                             ProposePlans propose,
                                             FindIslands find) {
  return std::make_unique<ListedPlanner>(std::move(list), propose, find);
}

}  // namespace tangram
