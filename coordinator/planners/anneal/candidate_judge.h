#ifndef TANGRAM_COORDINATOR_PLANNERS_ANNEAL_CANDIDATE_JUDGE_H_
#define TANGRAM_COORDINATOR_PLANNERS_ANNEAL_CANDIDATE_JUDGE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/island.h"
#include "common/domain/model_spec.h"
#include "common/sim/stage_estimator.h"
#include "coordinator/planners/anneal/anneal.h"
#include "coordinator/planners/anneal/anneal_problem.h"
#include "coordinator/planners/constraints/resolve_constraints.h"
#include "coordinator/planners/polish/plan_climber.h"

namespace tangram::anneal {

// Settling a plan takes microseconds, so nobody need stop it.
class Unobserved : public PlanObserver {
 public:
  void OnPhase(PlanPhase /*phase*/) override {}
  void OnPairs(int /*done*/, int /*total*/) override {}
  void OnBest(double /*iteration_time_s*/) override {}
  bool ShouldStop() override { return false; }
};

// Judges candidates by the rules and the judge of planning.
class CandidateJudge {
 public:
  explicit CandidateJudge(const AnnealProblem& problem);

  // Returns the plan as it will run, and its evaluation. Empty: it is not
  // legal, does not fit, or takes longer than `limit_s`.
  std::optional<JudgedPlan> Judge(const PipelinePlan& candidate,
                                  double limit_s);

  // Likewise, but as it is: a runtime may refuse it, or run another.
  std::optional<JudgedPlan> JudgeUnfitted(const PipelinePlan& candidate,
                                          double limit_s);

  // Likewise once each stage recomputes, and if `tunes` also shards and keeps
  // on the host, what it must to fit.
  std::optional<JudgedPlan> JudgeSettled(const PipelinePlan& candidate,
                                         bool tunes, double limit_s);

  int num_played() const { return num_played_; }

 private:
  // Returns whether the plan meets the constraints and the limits.
  bool IsWithin(const PipelinePlan& plan) const;
  bool IsRunnable(const PipelinePlan& plan) const;
  bool MayRunOn(const PipelinePlan& plan) const;
  // Empty: the plan is not valid, does not fit or takes longer than `limit_s`.
  std::optional<Evaluation> Play(const PipelinePlan& plan, double limit_s);

  const AnnealProblem& problem_;
  std::vector<Island> islands_;  // With their limits.
  const absl::StatusOr<IslandRules> allowed_;
  StageEstimator estimator_;
  const PipelineRules unfitted_;  // Without PipelineRules::fit.
  Unobserved observer_;
  PlanClimber climber_;
  int num_played_ = 0;
};

}  // namespace tangram::anneal

#endif  // TANGRAM_COORDINATOR_PLANNERS_ANNEAL_CANDIDATE_JUDGE_H_
