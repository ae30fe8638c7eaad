#include "tests/bench/challenger/tribunal.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/sim/evaluate_plan.h"

namespace tangram::bench {

Tribunal::Tribunal(const Challenge& challenge)
    : challenge_(challenge),
      estimator_(challenge.request.model, challenge.request.cluster,
                 challenge.request.training) {}

std::optional<JudgedPlan> Tribunal::Judge(const PipelinePlan& candidate,
                                          double limit_s) {
  const PlanRequest& request = challenge_.request;
  if (!IsRunnable(candidate) || !MayRunOn(candidate)) return std::nullopt;
  // A runtime seldom changes plans, and making the plan its own takes longer
  // than to play it.
  std::optional<Evaluation> played = Play(candidate, limit_s);
  if (!played.has_value()) return std::nullopt;
  PipelinePlan plan = candidate;
  if (challenge_.rules.fit) {
    absl::StatusOr<PipelinePlan> fitted = challenge_.rules.fit(request, plan);
    if (!fitted.ok()) return std::nullopt;
    plan = *std::move(fitted);
    if (plan != candidate) played = Play(plan, limit_s);
    if (!played.has_value()) return std::nullopt;
  }
  return JudgedPlan{std::move(plan), *std::move(played)};
}

std::optional<Evaluation> Tribunal::Play(const PipelinePlan& plan,
                                         double limit_s) {
  absl::StatusOr<std::optional<Evaluation>> played =
      EvaluateWithin(estimator_, plan, limit_s);
  if (!played.ok() || !played->has_value()) return std::nullopt;
  ++num_played_;
  if ((*played)->iteration_time_s > limit_s) return std::nullopt;
  return *std::move(played);
}

bool Tribunal::IsRunnable(const PipelinePlan& plan) const {
  const Runtime* runtime = challenge_.rules.runtime;
  return runtime == nullptr ||
         absl::c_all_of(plan.stages, [&](const PlacedStage& stage) {
           return WhyNotRunnable(*runtime, stage.plan, estimator_.runs())
               .empty();
         });
}

bool Tribunal::MayRunOn(const PipelinePlan& plan) const {
  const PipelineRules& rules = challenge_.rules;
  std::set<GpuId> gpus;
  std::set<int> nodes;
  for (const PlacedStage& stage : plan.stages) {
    gpus.insert(stage.gpus.begin(), stage.gpus.end());
    for (const GpuId& gpu : stage.gpus) nodes.insert(gpu.node);
  }
  if (rules.accepts_gpus && !rules.accepts_gpus(static_cast<int>(gpus.size())))
    return false;
  const std::vector<int> used(nodes.begin(), nodes.end());
  return WhyNotDevices(rules, challenge_.request.cluster, used).empty();
}

}  // namespace tangram::bench
