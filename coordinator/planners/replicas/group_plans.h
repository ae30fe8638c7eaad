#ifndef TANGRAM_COORDINATOR_PLANNERS_REPLICAS_GROUP_PLANS_H_
#define TANGRAM_COORDINATOR_PLANNERS_REPLICAS_GROUP_PLANS_H_

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/island.h"
#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/sim/share_batch.h"
#include "coordinator/planners/replicas/candidate_plans.h"
#include "coordinator/planners/replicas/node_groups.h"

namespace tangram {

// The plan of one pipeline on the first nodes of each island of a group.
struct GroupPlan {
  PipelinePlan plan;
  double iteration_time_s = 0;  // With its share of the batch.
};

// Plans a request with one pipeline. Errors: those of the planner.
using PlanOnePipeline =
    std::function<absl::StatusOr<PlanResult>(const PlanRequest&)>;

// Plans groups of nodes, each once for each share of the batch.
class GroupPlans {
 public:
  // Plans at most `most_plans` times. `request` and `islands` must outlive it.
  GroupPlans(const PlanRequest& request, absl::Span<const Island> islands,
             PlanOnePipeline plan, int most_plans);

  // Returns the time of a group as a linear function of its samples. Empty: no
  // plan fits, or too many were made. Errors: those of the planner.
  //
  // The group is planned for a share near its part of the peak FLOP/s of all
  // nodes: a power of two of units, so that microbatches of many sizes divide
  // it. With J(n) the simulated time of that plan for
  // n samples, it is the line through J(n) and J(n/2).
  absl::StatusOr<std::optional<PipelinePace>> PaceOf(const NodeGroup& group);

  // Returns the plan of a group for a share of `samples`, valid as long as
  // this. Null: none fits, or too many were made. Errors likewise.
  absl::StatusOr<const GroupPlan*> Plan(const NodeGroup& group, int samples);

  // Likewise by another planner, without a limit. Not remembered.
  absl::StatusOr<std::optional<GroupPlan>> PlanBy(const PlanOnePipeline& plan,
                                                  const NodeGroup& group,
                                                  int samples) const;

  // Returns the plans that were made, each once.
  std::vector<CandidatePlan> Candidates() const;

  // Returns about the samples of the group's part of the peak FLOP/s: a power
  // of two of units.
  int SharedSamples(const NodeGroup& group) const;

  // Returns the samples in which a share of the group is counted: one for each
  // of its GPUs, halved until they are a small part of the batch.
  int UnitOf(const NodeGroup& group) const;
  int num_plans() const { return static_cast<int>(plans_.size()); }

 private:
  PlanRequest RequestFor(const NodeGroup& group, int samples) const;
  int NumGpus(const NodeGroup& group) const;
  double PeakFlops(const NodeGroup& group) const;
  PipelinePace LineThrough(const GroupPlan& plan, int samples) const;

  const PlanRequest& request_;
  const absl::Span<const Island> islands_;
  const PlanOnePipeline plan_;
  const int most_plans_;
  double peak_flops_ = 0;  // The sum over all islands.
  std::map<NodeGroup, std::optional<PipelinePace>> paces_;
  std::map<std::pair<NodeGroup, int>, std::optional<GroupPlan>> plans_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REPLICAS_GROUP_PLANS_H_
