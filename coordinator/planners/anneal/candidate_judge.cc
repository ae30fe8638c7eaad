#include "coordinator/planners/anneal/candidate_judge.h"

#include <iterator>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/domain/stage_limits.h"
#include "common/sim/evaluate_plan.h"
#include "coordinator/planners/constraints/limit_islands.h"

namespace tangram::anneal {
namespace {

PipelineRules WithoutFit(PipelineRules rules) {
  rules.fit = nullptr;
  return rules;
}

}  // namespace

CandidateJudge::CandidateJudge(const AnnealProblem& problem)
    : problem_(problem),
      islands_(problem.islands),
      allowed_(LimitIslands(problem.request, problem.rules, islands_)),
      estimator_(problem.request.model, problem.request.cluster,
                 problem.request.training),
      unfitted_(WithoutFit(problem.rules)),
      climber_(problem.request, unfitted_, PolishedPlan(), observer_) {}

// A runtime seldom changes plans, and making the plan its own takes longer than
// to play it.
std::optional<JudgedPlan> CandidateJudge::Judge(const PipelinePlan& candidate,
                                                double limit_s) {
  std::optional<JudgedPlan> judged = JudgeUnfitted(candidate, limit_s);
  if (!judged.has_value() || !problem_.rules.fit) return judged;
  absl::StatusOr<PipelinePlan> fitted =
      FitPlan(problem_.rules, problem_.request, candidate);
  if (!fitted.ok()) return std::nullopt;
  if (*fitted == candidate) return judged;
  return JudgeUnfitted(*fitted, limit_s);
}

std::optional<JudgedPlan> CandidateJudge::JudgeUnfitted(
    const PipelinePlan& candidate, double limit_s) {
  if (!IsWithin(candidate) || !IsRunnable(candidate) || !MayRunOn(candidate)) {
    return std::nullopt;
  }
  std::optional<Evaluation> played = Play(candidate, limit_s);
  if (!played.has_value()) return std::nullopt;
  return JudgedPlan{candidate, *std::move(played)};
}

std::optional<JudgedPlan> CandidateJudge::JudgeSettled(
    const PipelinePlan& candidate, bool tunes, double limit_s) {
  const absl::StatusOr<std::optional<PolishedPlan>> settled =
      climber_.Settle(candidate, tunes ? PlanClimber::Effort::kFull
                                       : PlanClimber::Effort::kHasty);
  if (!settled.ok() || !settled->has_value()) return std::nullopt;
  return JudgeUnfitted((*settled)->plan, limit_s);
}

std::optional<Evaluation> CandidateJudge::Play(const PipelinePlan& plan,
                                               double limit_s) {
  absl::StatusOr<std::optional<Evaluation>> played =
      EvaluateWithin(estimator_, plan, limit_s);
  if (!played.ok() || !played->has_value()) return std::nullopt;
  ++num_played_;
  if ((*played)->iteration_time_s > limit_s ||
      (*played)->measured_fraction < problem_.least_measured) {
    return std::nullopt;
  }
  return *std::move(played);
}

bool CandidateJudge::IsWithin(const PipelinePlan& plan) const {
  const int wanted = problem_.request.pipeline_microbatch_size;
  if (!allowed_.ok() || plan.num_devices() > allowed_->max_stages ||
      (wanted > 0 && plan.pipeline_microbatch_size != wanted) ||
      !WhyNotAsked(problem_.request.constraints, plan).empty()) {
    return false;
  }
  std::vector<int> num_devices(islands_.size());
  for (int s = 0; s < plan.num_stages(); ++s) {
    const PlacedStage& stage = plan.stages[s];
    const int end = stage.plan.end.layer + (stage.plan.end.op > 0 ? 1 : 0);
    if (stage.island < 0 || stage.island >= std::ssize(islands_) ||
        !allowed_->Allows(stage.plan.begin.layer, end, stage.island)) {
      return false;
    }
    const StageLimits& limits = islands_[stage.island].spec.limits;
    const StageLimits& ends = problem_.rules.ends;
    const bool is_end =
        &stage == &plan.stages.front() || &stage == &plan.stages.back();
    if (!WhyOutside(limits, stage.plan, estimator_.runs()).empty() ||
        (is_end && !WhyOutside(ends, stage.plan, estimator_.runs()).empty())) {
      return false;
    }
    num_devices[stage.island] += s < plan.num_devices() ? 1 : 0;
    if (limits.max_stages > 0 &&
        num_devices[stage.island] > limits.max_stages) {
      return false;
    }
  }
  return true;
}

bool CandidateJudge::IsRunnable(const PipelinePlan& plan) const {
  const Runtime* runtime = problem_.rules.runtime;
  return runtime == nullptr ||
         (WhyNotScheduled(*runtime, plan).empty() &&
          absl::c_all_of(plan.stages, [&](const PlacedStage& stage) {
            return WhyNotRunnable(*runtime, stage.plan, estimator_.runs())
                .empty();
          }));
}

bool CandidateJudge::MayRunOn(const PipelinePlan& plan) const {
  const PipelineRules& rules = problem_.rules;
  if (!rules.accepts_gpus && !rules.why_not_device) return true;
  std::set<GpuId> gpus;
  std::set<int> nodes;
  for (const PlacedStage& stage : plan.stages) {
    gpus.insert(stage.gpus.begin(), stage.gpus.end());
    for (const GpuId& gpu : stage.gpus) nodes.insert(gpu.node);
  }
  if (rules.accepts_gpus && !rules.accepts_gpus(static_cast<int>(gpus.size())))
    return false;
  const std::vector<int> used(nodes.begin(), nodes.end());
  return WhyNotDevices(rules, problem_.request.cluster, used).empty();
}

}  // namespace tangram::anneal
