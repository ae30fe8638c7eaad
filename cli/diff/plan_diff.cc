#include "cli/diff/plan_diff.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/diff/request_diff.h"
#include "common/sim/compare_plans.h"
#include "common/sim/describe.h"
#include "common/sim/stage_labels.h"
#include "common/wire/pipeline_files.h"

namespace tangram {
namespace {

std::string AnswerText(const PlanResult& result) {
  if (result.plan) return "a plan";
  if (result.replicated_plan) {
    const size_t num_pipelines = result.replicated_plan->pipelines.size();
    return absl::StrCat("a plan of ", num_pipelines,
                        num_pipelines == 1 ? " pipeline" : " pipelines");
  }
  return absl::StrCat(
      "no plan fits",
      result.infeasible ? absl::StrCat(": ", result.infeasible->reason) : "");
}

std::vector<GpuId> GpusUsed(const PipelinePlan& plan) {
  std::vector<GpuId> gpus;
  for (int d = 0; d < plan.num_devices(); ++d) {
    const std::vector<GpuId>& more = plan.stages[d].gpus;
    gpus.insert(gpus.end(), more.begin(), more.end());
  }
  return gpus;
}

// Returns the names of the islands in use; empty if the file does not name
// them, as in plans that were imported.
std::string IslandsUsed(const PlanResult& result) {
  std::set<int> used;
  for (const PlacedStage& stage : result.plan->stages) {
    if (stage.island < 0 ||
        stage.island >= static_cast<int>(result.islands.size())) {
      return "";
    }
    used.insert(stage.island);
  }
  return absl::StrJoin(used, ", ", [&](std::string* out, int island) {
    out->append(result.islands[island].name);
  });
}

// Returns the boundaries between stages of `plan` that `other` lacks.
std::string CutsOnlyIn(const ModelSpec& model, const PipelinePlan& plan,
                       const PipelinePlan& other) {
  std::set<OperatorCut> elsewhere;
  for (const PlacedStage& stage : other.stages) {
    elsewhere.insert(stage.plan.end);
  }
  std::vector<std::string> cuts;
  for (const PlacedStage& stage : plan.stages) {
    if (elsewhere.count(stage.plan.end) > 0) continue;
    cuts.push_back(CutLabel(model, stage.plan.end));
  }
  return cuts.empty() ? "none" : absl::StrJoin(cuts, ", ");
}

void AddIslands(const PlanResult& a, const PlanResult& b,
                Differences& differences) {
  const std::string in_a = IslandsUsed(a);
  const std::string in_b = IslandsUsed(b);
  if (!in_a.empty() && !in_b.empty()) differences.Name("islands", in_a, in_b);
}

// Returns the warm-up counts of the devices. Plain 1F1B runs p − d on device d
// of p.
std::string WarmUpOf(const PipelinePlan& plan) {
  std::vector<int> passes = plan.warm_up_passes;
  if (passes.empty() && plan.schedule == PipelineSchedule::kOneFOneB) {
    for (int left = plan.num_devices(); left > 0; --left) {
      passes.push_back(left);
    }
  }
  return absl::StrJoin(passes, ", ");
}

std::vector<Difference> DiffPipelines(const PlanFile& a, const PlanFile& b,
                                      bool same_layers) {
  const PipelinePlan& in_a = *a.result.plan;
  const PipelinePlan& in_b = *b.result.plan;
  Differences differences;
  AddIslands(a.result, b.result, differences);
  differences.Name("gpus", DescribeGpus(a.cluster, GpusUsed(in_a)),
                   DescribeGpus(b.cluster, GpusUsed(in_b)));
  differences.Number("stages", in_a.num_stages(), in_b.num_stages());
  differences.Name("schedule", ScheduleName(in_a.schedule),
                   ScheduleName(in_b.schedule));
  if (!in_a.warm_up_passes.empty() || !in_b.warm_up_passes.empty()) {
    differences.Name("warm_up", WarmUpOf(in_a), WarmUpOf(in_b));
  }
  differences.Number("virtual_stages", in_a.virtual_stages,
                     in_b.virtual_stages);
  differences.Number("pipeline_microbatch_size", in_a.pipeline_microbatch_size,
                     in_b.pipeline_microbatch_size);
  if (same_layers) {
    differences.Name("cuts", CutsOnlyIn(a.model, in_a, in_b),
                     CutsOnlyIn(a.model, in_b, in_a));
  }
  return std::move(differences).Take();
}

std::vector<Difference> DiffPredictions(const Evaluation& a,
                                        const Evaluation& b) {
  Differences differences;
  differences.Figure("iteration_time_s", a.iteration_time_s,
                     b.iteration_time_s);
  differences.Figure("tokens_per_s", a.tokens_per_s, b.tokens_per_s);
  differences.Figure("model_flops_utilization", a.model_flops_utilization,
                     b.model_flops_utilization);
  differences.Figure("bubble_fraction", a.bubble_fraction, b.bubble_fraction);
  differences.Figure("fullest_memory_fraction", MemoryFraction(a),
                     MemoryFraction(b));
  differences.Number("violations", static_cast<int64_t>(a.violations.size()),
                     static_cast<int64_t>(b.violations.size()));
  differences.Figure("measured_fraction", a.measured_fraction,
                     b.measured_fraction);
  return std::move(differences).Take();
}

}  // namespace

bool PlanDiff::same() const {
  return model.empty() && cluster.empty() && training.empty() && plan.empty() &&
         prediction.empty() &&
         std::all_of(stages.begin(), stages.end(),
                     [](const StageDifference& stage) {
                       return stage.differences.empty();
                     });
}

namespace {

// Compares two plans of equally many pipelines: pipeline r of `a` with pipeline
// r of `b`. `diff` holds the differences of the requests.
PlanDiff DiffReplicated(const PlanFile& a, const PlanFile& b, PlanDiff diff) {
  Differences differences;
  differences.Name("sync", ReplicaSyncName(a.result.replicated_plan->sync),
                   ReplicaSyncName(b.result.replicated_plan->sync));
  const std::vector<PlanFile> in_a = PipelineFiles(a);
  const std::vector<PlanFile> in_b = PipelineFiles(b);
  for (size_t r = 0; r < in_a.size(); ++r) {
    Differences share;
    share.Number("samples", in_a[r].training.global_batch_size,
                 in_b[r].training.global_batch_size);
    share.Figure("state_fraction",
                 a.result.replicated_plan->pipelines[r].state_fraction,
                 b.result.replicated_plan->pipelines[r].state_fraction);
    const std::string field = absl::StrCat("pipelines[", r, "]");
    differences.AddIn(field, std::move(share).Take());
    const PlanDiff pipeline = DiffPlans(in_a[r], in_b[r]);
    differences.AddIn(field, pipeline.plan);
    for (const StageDifference& stage : pipeline.stages) {
      differences.AddIn(absl::StrCat(field, ".stages[", stage.stage_a, "]"),
                        stage.differences);
    }
  }
  diff.plan = std::move(differences).Take();
  Differences figures;
  figures.Figure("iteration_time_s",
                 a.result.replicated_evaluation.iteration_time_s,
                 b.result.replicated_evaluation.iteration_time_s);
  figures.Figure("exposed_replica_sync_s",
                 a.result.replicated_evaluation.exposed_replica_sync_s,
                 b.result.replicated_evaluation.exposed_replica_sync_s);
  diff.prediction = std::move(figures).Take();
  return diff;
}

}  // namespace

PlanDiff DiffPlans(const PlanFile& a, const PlanFile& b) {
  PlanDiff diff{.model = DiffModels(a.model, b.model),
                .cluster = DiffClusters(a.cluster, b.cluster),
                .training = DiffTraining(a.training, b.training)};
  if (a.result.replicated_plan && b.result.replicated_plan &&
      a.result.replicated_plan->pipelines.size() ==
          b.result.replicated_plan->pipelines.size()) {
    return DiffReplicated(a, b, std::move(diff));
  }
  if (!a.result.plan || !b.result.plan) {
    Differences differences;
    differences.Name("answer", AnswerText(a.result), AnswerText(b.result));
    diff.plan = std::move(differences).Take();
    return diff;
  }
  const bool same_layers = a.model.layers == b.model.layers;
  diff.plan = DiffPipelines(a, b, same_layers);
  diff.prediction = DiffPredictions(a.result.evaluation, b.result.evaluation);
  if (same_layers) diff.stages = DiffStages(a, b);
  return diff;
}

}  // namespace tangram
