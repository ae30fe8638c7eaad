#include "common/wire/answered_request.h"

#include <utility>
#include <vector>

#include "common/band/residual_table.h"
#include "common/band/traits_of_plan.h"
#include "common/sim/explain_plan.h"
#include "common/sim/explain_replicated_plan.h"

namespace tangram {
namespace {

// Returns the framework that the plan is for; empty: any.
absl::string_view RuntimeOf(const PlanFile& file) {
  if (file.constraints.runtime != kAutoRuntime) return file.constraints.runtime;
  for (const PlanAlternative& alternative : file.result.alternatives) {
    if (alternative.runtime != kAnyRuntime &&
        alternative.iteration_time_s == file.result.iteration_time_s()) {
      return alternative.runtime;
    }
  }
  return "";
}

}  // namespace

PlanFile AnsweredRequest(PlanRequest request, PlanResult result) {
  PlanFile file{.cluster = std::move(request.cluster),
                .model = std::move(request.model),
                .training = result.training.value_or(request.training),
                .constraints = std::move(request.constraints)};
  file.result = std::move(result);
  if (file.result.plan.has_value()) {
    file.explanation = ExplainPlan(file.model, file.cluster, *file.result.plan,
                                   file.result.evaluation);
  } else if (file.result.replicated_plan.has_value()) {
    file.explanation = ExplainReplicatedPlan(
        file.model, file.cluster, file.training, *file.result.replicated_plan,
        file.result.replicated_evaluation);
  }
  SetBand(file);
  return file;
}

void SetBand(PlanFile& file) {
  std::vector<const PipelinePlan*> pipelines;
  if (file.result.plan.has_value()) pipelines.push_back(&*file.result.plan);
  if (file.result.replicated_plan.has_value()) {
    for (const auto& pipeline : file.result.replicated_plan->pipelines) {
      pipelines.push_back(&pipeline.plan);
    }
  }
  file.result.band.reset();
  if (pipelines.empty()) return;
  const ResidualTable& table = ShippedResiduals();
  file.result.band =
      BandsOf(table, TraitsOfPlan(table, file.model, file.cluster, pipelines,
                                  FrameworkOfRuntime(RuntimeOf(file))));
}

}  // namespace tangram
