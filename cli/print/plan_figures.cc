#include "cli/print/plan_figures.h"

#include <algorithm>

namespace tangram {

std::vector<EvaluatedPlan> PipelinesOf(const PlanResult& result) {
  if (result.plan) return {{*result.plan, result.evaluation}};
  std::vector<EvaluatedPlan> pipelines;
  const auto& replicas = result.replicated_plan->pipelines;
  for (size_t r = 0; r < replicas.size(); ++r) {
    pipelines.push_back(
        {replicas[r].plan, result.replicated_evaluation.pipelines[r]});
  }
  return pipelines;
}

PlanFigures FiguresOf(const PlanFile& file) {
  PlanFigures figures{.iteration_time_s = file.result.iteration_time_s(),
                      .planning_s = file.provenance.wall_s};
  if (file.result.closed_form_s > 0) {
    figures.predicted_s = file.result.closed_form_s;
  }
  const std::vector<EvaluatedPlan> pipelines = PipelinesOf(file.result);
  figures.num_pipelines = static_cast<int>(pipelines.size());
  for (const EvaluatedPlan& pipeline : pipelines) {
    figures.memory_fraction =
        std::max(figures.memory_fraction, MemoryFraction(pipeline.evaluation));
    figures.num_stages += pipeline.plan.num_stages();
    figures.num_gpus += NumGpus(pipeline.plan);
  }
  return figures;
}

Fullest FullestOf(absl::Span<const EvaluatedPlan> pipelines) {
  Fullest fullest;
  const auto share = [](const StageEvaluation& stage) {
    return stage.peak_bytes / stage.capacity_bytes;
  };
  for (size_t r = 0; r < pipelines.size(); ++r) {
    const std::vector<StageEvaluation>& stages = pipelines[r].evaluation.stages;
    for (size_t s = 0; s < stages.size(); ++s) {
      if (fullest.stage != nullptr &&
          !(share(stages[s]) > share(*fullest.stage))) {
        continue;
      }
      fullest.stage = &stages[s];
      fullest.name = absl::StrCat(
          pipelines.size() > 1 ? absl::StrCat("pipeline ", r, ", ") : "",
          "stage ", s);
    }
  }
  return fullest;
}

double TokensPerSecond(const PlanResult& result) {
  return result.replicated_plan ? result.replicated_evaluation.tokens_per_s
                                : result.evaluation.tokens_per_s;
}

}  // namespace tangram
