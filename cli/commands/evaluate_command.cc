#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/args/request.h"
#include "cli/commands/answer.h"
#include "cli/commands/commands.h"
#include "cli/files/plan_files.h"
#include "cli/planning/interrupt.h"
#include "common/base/status_macros.h"
#include "common/sim/describe.h"
#include "formats/config/attach_profile_files.h"
#include "formats/config/model_file.h"

namespace tangram {
namespace {

absl::StatusOr<int> FindNode(const Cluster& cluster, const std::string& name) {
  for (size_t n = 0; n < cluster.nodes.size(); ++n) {
    if (cluster.nodes[n].name == name) return static_cast<int>(n);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--cluster: no node \"", name,
                   "\", which the plan uses; expected a "
                   "cluster with the plan's nodes"));
}

// Moves the stages of `plan` from cluster `from` to the nodes of the same names
// in cluster `to`. Islands are forgotten, because `to` may have others.
absl::Status MovePlan(const Cluster& from, const Cluster& to,
                      PipelinePlan& plan) {
  std::vector<int> moved(from.nodes.size(), -1);
  for (PlacedStage& stage : plan.stages) {
    stage.island = -1;
    for (GpuId& gpu : stage.gpus) {
      int& node = moved[gpu.node];
      if (node < 0) {
        TANGRAM_ASSIGN_OR_RETURN(node, FindNode(to, from.nodes[gpu.node].name));
      }
      gpu.node = node;
    }
  }
  return absl::OkStatus();
}

// Moves the plan of `result`, of one pipeline or of several.
absl::Status MovePlan(const Cluster& from, const Cluster& to,
                      PlanResult& result) {
  if (result.plan) return MovePlan(from, to, *result.plan);
  for (PipelineReplica& replica : result.replicated_plan->pipelines) {
    TANGRAM_RETURN_IF_ERROR(MovePlan(from, to, replica.plan));
  }
  return absl::OkStatus();
}

// Keeps only the plan of a result. Islands, notes and statistics describe the
// old cluster and model, not the new ones.
PlanResult PlanAlone(PlanResult found) {
  PlanResult result;
  result.plan = std::move(found.plan);
  result.replicated_plan = std::move(found.replicated_plan);
  return result;
}

absl::Status Override(const EvaluateOptions& options, PlanFile& file) {
  const ModelOverrides overrides{.num_layers = options.model.num_layers};
  if (!options.model.name_or_file.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(file.model,
                             LoadModel(options.model.name_or_file, overrides));
    file.result = PlanAlone(std::move(file.result));
  }
  if (!options.cluster.file.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(Cluster cluster, LoadCluster(options.cluster));
    TANGRAM_RETURN_IF_ERROR(MovePlan(file.cluster, cluster, file.result));
    file.cluster = std::move(cluster);
    file.result = PlanAlone(std::move(file.result));
  } else if (!options.cluster.profiles.empty()) {
    TANGRAM_RETURN_IF_ERROR(
        AttachProfileFiles(options.cluster.profiles, file.cluster.MakeOwn()));
    file.result = PlanAlone(std::move(file.result));
  }
  return absl::OkStatus();
}

// Returns notes on GPUs that lack units for the precision of the plan.
std::vector<std::string> MissingUnits(const PlanFile& file) {
  std::vector<PlacedStage> stages;
  if (file.result.plan) stages = file.result.plan->stages;
  if (file.result.replicated_plan) {
    for (const PipelineReplica& replica :
         file.result.replicated_plan->pipelines) {
      stages.insert(stages.end(), replica.plan.stages.begin(),
                    replica.plan.stages.end());
    }
  }
  return DescribeMissingUnits(file.cluster, file.training.precision, stages);
}

absl::Status CheckOverrides(const EvaluateOptions& options) {
  if (options.cluster.file.empty() && !options.cluster.nodes.empty()) {
    return absl::InvalidArgumentError("--nodes: expected --cluster with it");
  }
  // The cluster of a plan has its constants already.
  if (options.cluster.file.empty() && !options.cluster.constants_file.empty()) {
    return absl::InvalidArgumentError(
        "--constants: expected --cluster with it");
  }
  if (options.model.name_or_file.empty() && options.model.num_layers) {
    return absl::InvalidArgumentError("--layers: expected --model with it");
  }
  return absl::OkStatus();
}

// Returns the plan file that holds what was evaluated; empty: none does.
std::string WrittenPlan(const EvaluateOptions& options) {
  const bool is_changed = !options.cluster.file.empty() ||
                          !options.model.name_or_file.empty() ||
                          !options.cluster.profiles.empty();
  return is_changed ? options.output_file : options.plan_file;
}

}  // namespace

CommandResult Run(const EvaluateOptions& options, Console& console) {
  const PlanOutputs outputs{.plan_file = options.output_file,
                            .timeline_file = options.timeline_file};
  TANGRAM_RETURN_IF_ERROR(CheckOverrides(options));
  TANGRAM_RETURN_IF_ERROR(CheckOutputs(outputs));
  TANGRAM_ASSIGN_OR_RETURN(PlanFile file, ReadPlanFile(options.plan_file));
  const bool is_replicated = file.result.replicated_plan.has_value();
  if (!file.result.plan && !is_replicated) {
    TANGRAM_RETURN_IF_ERROR(
        PrintAnswerOf(file, options.answer, options.plan_file, console));
    return ExitCode::kNoPlan;
  }
  TANGRAM_RETURN_IF_ERROR(Override(options, file));

  PlanTimelines timelines;
  TANGRAM_RETURN_IF_ERROR(
      EvaluatePlanFile(options.plan_file, file, &timelines, Interrupted));
  TANGRAM_RETURN_IF_ERROR(WriteOutputs(outputs, file, timelines, console.out));
  if (!IsStandardOutput(options.output_file)) {
    // The search is not repeated, so its notes say nothing about this answer.
    file.result.notes = MissingUnits(file);
    file.result.alternatives.clear();
    file.result.unused_islands.clear();
    TANGRAM_RETURN_IF_ERROR(
        PrintAnswerOf(file, options.answer, WrittenPlan(options), console));
  }
  return Fits(file) ? ExitCode::kOk : ExitCode::kNoPlan;
}

}  // namespace tangram
