#include "common/wire/answered_request.h"

#include <utility>

#include "common/sim/explain_plan.h"
#include "common/sim/explain_replicated_plan.h"

namespace tangram {

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
  return file;
}

}  // namespace tangram
