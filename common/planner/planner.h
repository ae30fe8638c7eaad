#ifndef TANGRAM_COMMON_PLANNER_PLANNER_H_
#define TANGRAM_COMMON_PLANNER_PLANNER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/island.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/slice_plan.h"
#include "common/planner/cluster_planner.h"

// The interface that planners implement. A planner proposes whole plans and
// never scores them: a judge validates each, plays it on the real cluster,
// refuses those that cannot run, and picks. So plans of all planners are
// compared by one law, and no planner can call a plan a success that is none.
namespace tangram {

// A plan that a planner offers.
struct Proposal {
  PipelinePlan plan;
  // The planner's own estimate of the iteration time. Reported, never used to
  // choose. 0: the planner makes none.
  double predicted_s = 0;
  std::string note;  // For people; kept with the plan if it is chosen.
};

// Why the judge does not take a proposal.
struct Refusal {
  int proposal = 0;  // Index into the proposals last returned.
  Infeasible why;
  // The stage of the proposed plan that needs more memory than there is; -1
  // where the plan as a whole is refused.
  int stage = -1;
};

// A proposal and what the judge found.
struct JudgedProposal {
  Proposal proposal;     // Its plan as it will run.
  uint32_t islands = 0;  // A bit for each that the proposal uses.
  // Simulated; infinite where the proposal is refused.
  double iteration_time_s = std::numeric_limits<double>::infinity();

  bool fits() const {
    return iteration_time_s < std::numeric_limits<double>::infinity();
  }
};

// All proposals of a search, in the order in which they were made.
struct Judgement {
  std::vector<JudgedProposal> proposals;
  int chosen = -1;  // -1: none fits.
};

// A planner's report on a search that has ended.
struct PlanFindings {
  std::vector<Island> islands;  // What PlacedStage::island refers to.
  std::vector<UnusedIsland> unused_islands;
  // See PlanResult::lower_bound_s; 0: the planner proves none.
  double lower_bound_s = 0;
  PlanningStats stats;
  std::vector<std::string> notes;
  // Why there was nothing to propose; read only if there was not.
  std::optional<Infeasible> why_none;
  // Whether the proposals ended because there are no others, and not at a limit
  // of the search.
  bool exhausted = false;
};

// One search for one request. Calls: Propose until the judge is content or no
// proposal is left, then Conclude once.
class PlanSearch {
 public:
  virtual ~PlanSearch() = default;

  // The next proposals, in the order of the planner's preference: on the first
  // call its best ones, later the next best after all that it made so far were
  // refused, for the reasons in `refused`. Empty: none is left. Never returns a
  // proposal twice.
  virtual absl::StatusOr<std::vector<Proposal>> Propose(
      absl::Span<const Refusal> refused) = 0;

  virtual absl::StatusOr<PlanFindings> Conclude(const Judgement& judgement) = 0;
};

// A planner of whole clusters: Tangram, and the rivals it is compared with.
// Returns the same proposals for the same request, whatever the number of
// threads or workers behind its source of slice plans.
//
// Errors, here and of PlanSearch: kInvalidArgument for a bad request (naming
// field and value), kCancelled once the observer says so, and what the source
// of slice plans returns. "No plan" is no error.
class Planner {
 public:
  virtual ~Planner() = default;

  // The islands as which the planner sees the cluster of the request, in the
  // order of PlacedStage::island.
  virtual absl::StatusOr<std::vector<Island>> Islands(
      const PlanRequest& request) = 0;

  // `request` and `observer` must outlive the search.
  virtual absl::StatusOr<std::unique_ptr<PlanSearch>> Start(
      const PlanRequest& request, PlanObserver& observer) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_PLANNER_H_
