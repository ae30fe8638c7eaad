#include "frameworks/export_plan.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "frameworks/framework_table.h"
#include "frameworks/general_refusals.h"
#include "frameworks/losses.h"
#include "frameworks/lower_plan.h"
#include "frameworks/refusal.h"

namespace tangram {
namespace {

absl::StatusOr<FrameworkExport> Write(const Framework& target,
                                      const PlannedTraining& planned) {
  TANGRAM_RETURN_IF_ERROR(ValidatePlan(planned.model, planned.cluster,
                                       planned.training, planned.plan));
  if (!target.refuses_all) {
    TANGRAM_RETURN_IF_ERROR(target.CheckLayers(planned.model));
  }
  TANGRAM_RETURN_IF_ERROR(RefuseMixedStages(planned.plan));
  Obstacles obstacles;
  absl::StatusOr<FrameworkExport> written = target.write(planned);
  obstacles.Add(written.status());
  obstacles.Add(RefuseOtherLibraries(
      planned.cluster, planned.plan.stages.front().gpus.front(), planned.plan));
  obstacles.Add(RefuseWarmUp(planned.plan));
  TANGRAM_RETURN_IF_ERROR(obstacles.AsStatus());
  FrameworkExport result = *std::move(written);
  PutLosses(ListLosses(planned, result.training, result.plan), result);
  result.plan = CanonicalPlan(planned.model, std::move(result.plan));
  const bool is_as_planned =
      result.training == planned.training && result.plan == planned.plan;
  if (!is_as_planned) {
    TANGRAM_RETURN_IF_ERROR(ValidatePlan(planned.model, planned.cluster,
                                         result.training, result.plan));
  }
  return result;
}

}  // namespace

std::string WhatToDo(absl::string_view target, const PlannedTraining& planned) {
  const absl::StatusOr<const Framework*> found =
      FindFramework(PlanningRuntimes(), kRuntimeField, target);
  if (!found.ok()) return "";
  const Framework& framework = **found;
  const TrainingOptions training = framework.train == nullptr
                                       ? planned.training
                                       : framework.train(planned.training);
  if (!framework.CheckTraining(planned.model, training).ok()) return "";
  const bool runs_somewhere =
      framework.why_not_device == nullptr ||
      absl::c_any_of(planned.cluster.nodes, [&](const Node& node) {
        return framework.why_not_device(node.device).empty();
      });
  return runs_somewhere ? absl::StrCat("plan with --runtime ", target) : "";
}

std::vector<PlanTaker> TakersOf(const PlannedTraining& planned) {
  std::vector<PlanTaker> takers;
  for (const Framework* framework : PlanningRuntimes()) {
    const absl::StatusOr<FrameworkExport> exported =
        ExportPlan(framework->name, planned);
    if (!exported.ok() || !exported->losses.empty()) continue;
    takers.push_back({.framework = std::string(framework->name),
                      .losses = exported->framework_losses,
                      .reads_data = framework->reads_data});
  }
  absl::c_stable_sort(takers, [](const PlanTaker& a, const PlanTaker& b) {
    return a.losses.empty() && !b.losses.empty();
  });
  return takers;
}

absl::StatusOr<FrameworkExport> ExportPlan(absl::string_view target,
                                           const PlannedTraining& planned) {
  TANGRAM_ASSIGN_OR_RETURN(const Framework* found,
                           FindFramework(ExportTargets(), "target", target));
  absl::StatusOr<FrameworkExport> result = Write(*found, planned);
  if (!result.ok()) return InTarget(target, result.status());
  return result;
}

}  // namespace tangram
