#include "frameworks/export_pipelines.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/in_field.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "frameworks/framework_table.h"
#include "frameworks/general_refusals.h"
#include "frameworks/losses.h"
#include "frameworks/lower_plan.h"
#include "frameworks/refusal.h"

namespace tangram {
namespace {

std::string PlanField(size_t pipeline) {
  return absl::StrCat("pipelines[", pipeline, "].plan");
}

absl::Status CheckPipelines(const Framework& target,
                            const PlannedPipelines& planned) {
  if (planned.plan.pipelines.size() == 1) {
    return absl::UnimplementedError(
        "replicated_plan: one pipeline; expected it as plan, the form of a "
        "plan of one pipeline");
  }
  if (target.write_pipelines == nullptr) {
    return absl::UnimplementedError(
        "replicated_plan: several pipelines; expected one pipeline, as the "
        "runtime runs no more");
  }
  return ValidateReplicatedPlan(planned.model, planned.cluster,
                                planned.training, planned.plan);
}

absl::StatusOr<FrameworkExport> WritePipelines(
    const Framework& target, const PlannedPipelines& planned) {
  TANGRAM_RETURN_IF_ERROR(CheckPipelines(target, planned));
  TANGRAM_RETURN_IF_ERROR(target.CheckLayers(planned.model));
  const std::vector<PipelineReplica>& pipelines = planned.plan.pipelines;
  for (size_t r = 0; r < pipelines.size(); ++r) {
    TANGRAM_RETURN_IF_ERROR(
        InField(PlanField(r), RefuseMixedStages(pipelines[r].plan)));
  }
  Obstacles obstacles;
  absl::StatusOr<FrameworkExport> written = target.write_pipelines(planned);
  obstacles.Add(written.status());
  const GpuId first = pipelines.front().plan.stages.front().gpus.front();
  for (size_t r = 0; r < pipelines.size(); ++r) {
    const PipelinePlan& plan = pipelines[r].plan;
    obstacles.Add(InField(PlanField(r),
                          RefuseOtherLibraries(planned.cluster, first, plan)));
    obstacles.Add(InField(PlanField(r), RefuseWarmUp(plan)));
  }
  TANGRAM_RETURN_IF_ERROR(obstacles.AsStatus());
  FrameworkExport result = *std::move(written);
  PutLosses(ListLosses(planned, result.training, result.pipelines), result);
  for (PipelineReplica& replica : result.pipelines.pipelines) {
    replica.plan = CanonicalPlan(planned.model, std::move(replica.plan));
  }
  TANGRAM_RETURN_IF_ERROR(ValidateReplicatedPlan(
      planned.model, planned.cluster, result.training, result.pipelines));
  return result;
}

}  // namespace

absl::StatusOr<FrameworkExport> ExportPipelines(
    absl::string_view target, const PlannedPipelines& planned) {
  TANGRAM_ASSIGN_OR_RETURN(const Framework* found,
                           FindFramework(ExportTargets(), "target", target));
  absl::StatusOr<FrameworkExport> result = WritePipelines(*found, planned);
  if (!result.ok()) return InTarget(target, result.status());
  return result;
}

}  // namespace tangram
