#ifndef TANGRAM_COORDINATOR_PLANNERS_JUDGE_JUDGED_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_JUDGE_JUDGED_PLANNER_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "common/base/ordered_tasks.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "common/planner/planner.h"

namespace tangram {

// Makes another plan of a proposal. Errors: kInvalidArgument with the reason to
// refuse it, and kCancelled.
using ChangeProposal = std::function<absl::StatusOr<PipelinePlan>(
    const PlanRequest&, const PipelinePlan&, PlanObserver&)>;

struct JudgeOptions {
  // A fraction; see ChooseIslands.
  double min_island_gain = 0;
  // Their `fit` makes the plan that the runtime runs. The judge scores this
  // plan.
  PipelineRules rules;
  // Gives a proposal the schedule that the request demands, in place of `rules`
  // alone: the result is a plan that the runtime runs. Empty: none is demanded.
  ChangeProposal reschedule;
  // Makes the plan of a result faster. It is applied to the fastest plan of
  // every set of islands that takes at most kWorthRefining more than the best.
  // So one more island still never makes the answer slower, unless that gains
  // more. The only error is kCancelled. Empty: plans stay as proposed.
  std::function<absl::Status(const PlanRequest&, PlanObserver&, PlanResult&)>
      refine;
  // Judges several proposals at a time. Null: one after the other.
  TaskRunner* tasks = nullptr;
};

inline constexpr double kWorthRefining = 0.25;

// Returns `planner` with a judge of its proposals. This is the one place that
// judges whole plans. It fits each proposal to the runtime, validates it
// (ValidatePlan) and simulates it (EvaluatePlan). It refuses a plan with a
// violation and asks the planner for the next best, until one fits or none is
// left. ChooseIslands picks among the plans that fit. So a plan in the result
// can run, and "no plan" has the reason and the bytes short of the proposal
// that came closest.
std::unique_ptr<ClusterPlanner> CreateJudgedPlanner(
    std::unique_ptr<Planner> planner, const JudgeOptions& options);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_JUDGE_JUDGED_PLANNER_H_
