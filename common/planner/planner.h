#ifndef TANGRAM_COMMON_PLANNER_PLANNER_H_
#define TANGRAM_COMMON_PLANNER_PLANNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/domain/island.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/replicated_plan.h"
#include "common/domain/slice_plan.h"
#include "common/planner/cluster_planner.h"

// The interface that planners implement. A planner proposes whole plans and
// never scores them. A judge validates each plan, plays it on the real cluster,
// refuses plans that cannot run, and chooses one. So plans of all planners are
// compared in the same way, and no planner can report success for a plan that
// cannot run.
namespace tangram {

// The judge asks a search for no more proposals once it has judged so many. The
// answer then says so.
inline constexpr int kMaxJudged = 4096;

// A plan that a planner offers.
struct Proposal {
  PipelinePlan plan;
  // If not empty, returns the plan, and `plan` is empty until then. A plan of a
  // large cluster takes megabytes, so the judge makes one at a time. Valid
  // until the next call of Propose.
  std::function<PipelinePlan()> make_plan;
  // Several pipelines that share the batch, in place of `plan`. Neither a
  // runtime nor polishing takes such plans.
  std::optional<ReplicatedPlan> replicated_plan;
  // The planner's own estimate of the iteration time. Reported, but never used
  // to choose. 0: the planner makes none.
  double predicted_s = 0;
  std::string note;  // For display; kept with the plan if it is chosen.
};

// The reason why the judge refuses a proposal.
struct Refusal {
  int proposal = 0;  // Index into the proposals last returned.
  Infeasible why;
  // The stage of the proposed plan that exceeds memory. -1: the plan as a whole
  // is refused, as always with several pipelines.
  int stage = -1;
};

// A short record of a proposal that was judged. The judge keeps the plans
// themselves only while it may choose them.
struct JudgedProposal {
  uint32_t islands = 0;              // One bit per island in use.
  int num_stages = 0;                // In all pipelines.
  int pipeline_microbatch_size = 0;  // The first pipeline's.
  // Simulated, of the plan as it will run. Infinite if the proposal is refused.
  double iteration_time_s = kInfinity;

  bool fits() const { return iteration_time_s < kInfinity; }
};

// All proposals of a search, in the order in which they were made.
struct Judgement {
  std::vector<JudgedProposal> proposals;
  int chosen = -1;  // -1: none fits.
};

// A planner's report on a search that has ended.
struct PlanFindings {
  std::vector<Island> islands;  // PlacedStage::island is an index into it.
  std::vector<UnusedIsland> unused_islands;
  // See PlanResult::lower_bound_s; 0: the planner proves none.
  double lower_bound_s = 0;
  double asked_s = 0;  // See Certificate; 0: the planner proves nothing.
  PlanningStats stats;
  std::vector<std::string> notes;
  // The reason for having no proposals. Read only if there were none.
  std::optional<Infeasible> why_none;
  // Whether the proposals ended because no others exist, not at a limit of the
  // search.
  bool exhausted = false;
  // The limits at which the search ended if it is not exhausted, each with the
  // option that lifts it. See PlanResult::limits.
  std::vector<std::string> limits;
};

// One search for one request. Calls: Propose until a proposal fits or none is
// left, then Improve until none is left, then Conclude once.
class PlanSearch {
 public:
  virtual ~PlanSearch() = default;

  // Returns the next proposals in order of the planner's preference. The first
  // call returns its best ones. Later calls return the next best, after the
  // earlier ones were refused for the reasons in `refused`. Empty: none is
  // left. Never returns a proposal twice.
  virtual absl::StatusOr<std::vector<Proposal>> Propose(
      absl::Span<const Refusal> refused) = 0;

  // Called after a proposal fitted, again and again until it returns none, and
  // then perhaps so once more with a higher limit.
  // `refused` are refusals of the last proposals, of Propose or Improve.
  // Returns proposals that may take less than `limit_s` seconds and may be the
  // fastest on their set of islands. Others change no answer. A planner that
  // proposes its best plans at once has none.
  virtual absl::StatusOr<std::vector<Proposal>> Improve(
      double /*limit_s*/, absl::Span<const Refusal> /*refused*/) {
    return std::vector<Proposal>();
  }

  virtual absl::StatusOr<PlanFindings> Conclude(const Judgement& judgement) = 0;
};

// A planner of whole clusters: Tangram and the planners that it is compared
// with. Returns the same proposals for the same request, for any number of
// threads or workers behind its source of slice plans.
//
// Errors, here and of PlanSearch: kInvalidArgument for a bad request (naming
// field and value), kCancelled once the observer asks to stop, and the errors
// of the source of slice plans. "No plan" is not an error.
class Planner {
 public:
  virtual ~Planner() = default;

  // Returns the islands into which the planner divides the cluster of the
  // request, in the order of PlacedStage::island.
  virtual absl::StatusOr<std::vector<Island>> Islands(
      const PlanRequest& request, PlanObserver& observer) = 0;

  // `request` and `observer` must outlive the search.
  virtual absl::StatusOr<std::unique_ptr<PlanSearch>> Start(
      const PlanRequest& request, PlanObserver& observer) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_PLANNER_H_
