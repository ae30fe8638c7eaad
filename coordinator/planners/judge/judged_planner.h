#ifndef TANGRAM_COORDINATOR_PLANNERS_JUDGE_JUDGED_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_JUDGE_JUDGED_PLANNER_H_

#include <memory>

#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "common/planner/planner.h"

namespace tangram {

// Proposals judged for one search before the judge gives up. Said in the answer
// where it is reached.
inline constexpr int kMaxJudged = 4096;

struct JudgeOptions {
  // See ChooseIslands.
  double min_island_gain = 0;
  // Their `fit` makes the plan that the runtime runs, which is what is judged.
  PipelineRules rules;
};

// The one place that judges whole plans. Takes what `planner` proposes, fits it
// to the runtime, validates it (ValidatePlan) and plays it (EvaluatePlan). A
// plan with a violation is refused, and the planner is asked for the next best,
// until one fits or none is left. Of those that fit, ChooseIslands picks. So a
// plan in the result can run, and "no plan" has the reason and the bytes short
// of the proposal that came closest.
std::unique_ptr<ClusterPlanner> CreateJudgedPlanner(
    std::unique_ptr<Planner> planner, const JudgeOptions& options);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_JUDGE_JUDGED_PLANNER_H_
