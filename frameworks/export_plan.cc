#include "frameworks/export_plan.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "frameworks/framework_table.h"
#include "frameworks/losses.h"
#include "frameworks/lower_plan.h"
#include "frameworks/refusal.h"

namespace tangram {
namespace {

absl::Status InTarget(absl::string_view name, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(name, ": ", status.message()));
}

// No target has unlike replicas of one stage. Sailor's runtime has them in
// lock-step with even shares alone; Zorse and Cephalo are no targets.
absl::Status RefuseMixedStages(const PipelinePlan& plan) {
  for (int s = 0; s < plan.num_stages(); ++s) {
    const MixedReplicas& mixed = plan.stages[s].mixed;
    if (mixed.empty()) continue;
    return absl::UnimplementedError(absl::StrCat(
        "stages[", s, "].mixed: ", mixed.groups.size(), " ",
        StageSharingName(mixed.sharing),
        " groups; expected none, as the runtime gives all replicas of a stage "
        "the same degrees and shares"));
  }
  return absl::OkStatus();
}

// NCCL and RCCL do not talk to each other, and every target opens one process
// group over all ranks.
absl::Status RefuseTwoLibraries(const Cluster& cluster,
                                const PipelinePlan& plan) {
  const auto device = [&](const GpuId& gpu) -> const DeviceSpec& {
    return cluster.nodes[gpu.node].device;
  };
  const DeviceSpec& first = device(plan.stages.front().gpus.front());
  for (int s = 0; s < plan.num_stages(); ++s) {
    for (const GpuId& gpu : plan.stages[s].gpus) {
      const DeviceSpec& other = device(gpu);
      if (other.collective_library == first.collective_library) continue;
      return Refuse(
          StageField(s, ".gpus"),
          absl::StrCat(other.type, " with ",
                       CollectiveLibraryName(other.collective_library)),
          absl::StrCat(CollectiveLibraryName(first.collective_library), " as ",
                       first.type,
                       " of stages[0]: the ranks of one launch have one "
                       "collective library"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<FrameworkExport> Write(const Framework& target,
                                      const PlannedTraining& planned) {
  TANGRAM_RETURN_IF_ERROR(ValidatePlan(planned.model, planned.cluster,
                                       planned.training, planned.plan));
  TANGRAM_RETURN_IF_ERROR(RefuseMixedStages(planned.plan));
  Obstacles obstacles;
  absl::StatusOr<FrameworkExport> written = target.write(planned);
  obstacles.Add(written.status());
  obstacles.Add(RefuseTwoLibraries(planned.cluster, planned.plan));
  if (!planned.plan.warm_up_passes.empty()) {
    obstacles.Add(absl::UnimplementedError(
        "warm_up: given; expected none, as the runtime decides "
        "itself how many passes its stages run ahead"));
  }
  TANGRAM_RETURN_IF_ERROR(obstacles.AsStatus());
  FrameworkExport result = *std::move(written);
  std::vector<std::string> losses =
      ListLosses(planned, result.training, result.plan);
  result.losses.insert(result.losses.begin(),
                       std::make_move_iterator(losses.begin()),
                       std::make_move_iterator(losses.end()));
  result.plan = CanonicalPlan(planned.model, std::move(result.plan));
  TANGRAM_RETURN_IF_ERROR(ValidatePlan(planned.model, planned.cluster,
                                       result.training, result.plan));
  return result;
}

}  // namespace

absl::Status WhyNotReplicated(absl::string_view target, size_t num_pipelines) {
  TANGRAM_RETURN_IF_ERROR(
      FindFramework(ExportTargets(), "target", target).status());
  if (num_pipelines == 1) {
    return absl::UnimplementedError(
        absl::StrCat(target,
                     ": replicated_plan: one pipeline; expected it as "
                     "plan, the form of a plan of one pipeline"));
  }
  // HexiScale runs pipelines of unlike stages, but its loss is divided by each
  // pipeline's own number of microbatches (heterogeneous_pipeline.py) and the
  // sum of gradients by the number of pipelines (fsdp_comm_utils.py).
  const char* why =
      target == "flashflex"
          ? "one pipeline, as the runtime averages the means of its pipelines "
            "and so weighs samples of small shares more"
          : "one pipeline, as the runtime runs no more";
  return absl::UnimplementedError(absl::StrCat(
      target, ": replicated_plan: several pipelines; expected ", why));
}

std::string WhatToDo(absl::string_view target, const PlannedTraining& planned) {
  const absl::StatusOr<const Framework*> found =
      FindFramework(PlanningRuntimes(), kRuntimeField, target);
  if (!found.ok()) return "";
  const Framework& framework = **found;
  const TrainingOptions training = framework.train == nullptr
                                       ? planned.training
                                       : framework.train(planned.training);
  if (framework.check != nullptr &&
      !framework.check(planned.model, training).ok()) {
    return "";
  }
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
