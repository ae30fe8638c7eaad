#include "common/planner/pipeline_rules.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/model_slice.h"

namespace tangram {

absl::StatusOr<PipelinePlan> FitPlan(const PipelineRules& rules,
                                     const PlanRequest& request,
                                     const PipelinePlan& plan) {
  PipelinePlan fitted = plan;
  if (rules.fit) {
    TANGRAM_ASSIGN_OR_RETURN(fitted, rules.fit(request, plan));
  }
  const auto refuse = [&](absl::string_view has, absl::string_view why) {
    return absl::InvalidArgumentError(
        rules.runtime == nullptr
            ? absl::StrCat(has, why)
            : absl::StrCat(rules.runtime->name, " runs ", why));
  };
  const std::string not_asked = WhyNotAsked(request.constraints, fitted);
  if (!not_asked.empty()) return refuse("the plan has ", not_asked);
  const StageLimits limits = LimitsOfAllStages(request.constraints);
  if (limits.none()) return fitted;
  const ModelSlice whole =
      MakeSlice({0, request.model.num_layers()}, request.model.layers);
  for (const PlacedStage& stage : fitted.stages) {
    const std::string why = WhyOutside(limits, stage.plan, whole.runs);
    if (!why.empty()) return refuse("a stage has ", why);
  }
  return fitted;
}

std::string WhyNotDevices(const PipelineRules& rules, const Cluster& cluster,
                          absl::Span<const int> nodes) {
  if (!rules.why_not_device) return "";
  for (const int node : nodes) {
    std::string why = rules.why_not_device(cluster.nodes[node].device);
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace tangram
