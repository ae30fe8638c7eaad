#include "tests/bench/challenger/tribunal.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/domain/model_slice.h"
#include "coordinator/planners/judge/judge_plan.h"
#include "tests/testing/silent_observer.h"

namespace tangram::bench {

Tribunal::Tribunal(const Challenge& challenge)
    : challenge_(challenge),
      runs_(MakeSlice({0, challenge.request.model.num_layers()},
                      challenge.request.model.layers)
                .runs),
      estimator_(challenge.request.model, challenge.request.cluster,
                 challenge.request.training) {}

std::optional<JudgedPlan> Tribunal::Judge(const PipelinePlan& candidate,
                                          double limit_s) {
  const PlanRequest& request = challenge_.request;
  if (!IsRunnable(candidate) || !MayRunOn(candidate)) return std::nullopt;
  // A runtime seldom changes plans, so the outline first saves most fits.
  if (!MayBeatLimit(candidate, limit_s)) return std::nullopt;
  PipelinePlan plan = candidate;
  if (challenge_.rules.fit) {
    absl::StatusOr<PipelinePlan> fitted = challenge_.rules.fit(request, plan);
    if (!fitted.ok()) return std::nullopt;
    plan = *std::move(fitted);
  }
  testing::SilentObserver observer;
  absl::StatusOr<std::optional<Evaluation>> judged =
      JudgePlan(estimator_, plan, observer);
  ++num_played_;
  if (!judged.ok() || !judged->has_value()) return std::nullopt;
  if ((*judged)->iteration_time_s > limit_s) return std::nullopt;
  return JudgedPlan{std::move(plan), **std::move(judged)};
}

bool Tribunal::IsRunnable(const PipelinePlan& plan) const {
  const Runtime* runtime = challenge_.rules.runtime;
  return runtime == nullptr ||
         absl::c_all_of(plan.stages, [&](const PlacedStage& stage) {
           return WhyNotRunnable(*runtime, stage.plan, runs_).empty();
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

bool Tribunal::MayBeatLimit(const PipelinePlan& plan, double limit_s) {
  const absl::StatusOr<PlanOutline> outline = OutlinePlan(estimator_, plan);
  return outline.ok() && outline->violations.empty() &&
         outline->least_s <= limit_s;
}

}  // namespace tangram::bench
