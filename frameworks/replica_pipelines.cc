#include "frameworks/replica_pipelines.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "frameworks/lower_plan.h"
#include "frameworks/refusal.h"

namespace tangram {
namespace {

// Returns the tensor-parallel degree of each transformer layer.
std::vector<int> TpOfLayers(const ReplicaPipeline& pipeline) {
  std::vector<int> tp;
  for (const ReplicaStage& stage : pipeline.stages) {
    tp.insert(tp.end(), stage.num_layers, stage.tp());
  }
  return tp;
}

}  // namespace

PlannedPipelines OnePipeline(const PlannedTraining& planned) {
  PlannedPipelines pipelines{.cluster = planned.cluster,
                             .model = planned.model,
                             .training = planned.training};
  pipelines.plan.pipelines = {
      {.plan = planned.plan,
       .num_microbatches = planned.training.global_batch_size /
                           planned.plan.pipeline_microbatch_size}};
  return pipelines;
}

absl::StatusOr<FrameworkExport> ExportAsPipelines(
    const PlannedTraining& planned,
    absl::FunctionRef<absl::StatusOr<FrameworkExport>(const PlannedPipelines&)>
        export_pipelines) {
  TANGRAM_ASSIGN_OR_RETURN(FrameworkExport result,
                           export_pipelines(OnePipeline(planned)));
  result.plan = std::move(result.pipelines.pipelines.front().plan);
  result.pipelines = {};
  return result;
}

std::string PlanPrefix(const ReplicatedPlan& plan, size_t pipeline) {
  return plan.pipelines.size() == 1
             ? ""
             : absl::StrCat("pipelines[", pipeline, "].plan.");
}

absl::Status InPlan(const ReplicatedPlan& plan, size_t pipeline,
                    const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(PlanPrefix(plan, pipeline),
                                                  status.message()));
}

void RequireWholePipelines(absl::string_view why_no_cp,
                           const ReplicatedPlan& plan, Obstacles& obstacles) {
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelinePlan& pipeline = plan.pipelines[r].plan;
    const std::string prefix = PlanPrefix(plan, r);
    if (pipeline.virtual_stages > 1) {
      obstacles.Refuse(prefix + "virtual_stages", pipeline.virtual_stages, "1");
    }
    const int dp = pipeline.stages.front().plan.parallelism.dp_degree;
    for (int i = 0; i < pipeline.num_stages(); ++i) {
      const StageParallelism& p = pipeline.stages[i].plan.parallelism;
      const std::string degrees = prefix + StageField(i, ".plan.parallelism.");
      if (p.cp_degree > 1) {
        obstacles.Refuse(degrees + "cp_degree", p.cp_degree,
                         absl::StrCat("1, as ", why_no_cp));
      }
      if (p.dp_degree == dp) continue;
      obstacles.Refuse(degrees + "dp_degree", p.dp_degree,
                       absl::StrCat(dp,
                                    " as in the first stage: replicas are "
                                    "whole pipelines"));
    }
  }
}

void RequireDivisibleTp(const ModelSpec& model, const ReplicatedPlan& plan,
                        Obstacles& obstacles) {
  std::vector<int> largest(model.layers.size(), 1);
  const auto for_all_stages = [&](auto visit) {
    for (size_t r = 0; r < plan.pipelines.size(); ++r) {
      const PipelinePlan& pipeline = plan.pipelines[r].plan;
      for (int i = 0; i < pipeline.num_stages(); ++i) {
        const StagePlan& stage = pipeline.stages[i].plan;
        visit(PlanPrefix(plan, r) + StageField(i, ""), stage,
              stage.parallelism.tp_degree);
      }
    }
  };
  for_all_stages([&](const std::string&, const StagePlan& stage, int tp) {
    for (int l = stage.begin.layer; l < stage.end.layer; ++l) {
      largest[l] = std::max(largest[l], tp);
    }
  });
  for_all_stages([&](const std::string& field, const StagePlan& stage, int tp) {
    for (int l = stage.begin.layer; l < stage.end.layer; ++l) {
      if (largest[l] % tp == 0) continue;
      obstacles.Refuse(
          field + ".plan.parallelism.tp_degree", tp,
          absl::StrCat("a divisor of ", largest[l], ", the largest of layer ",
                       l, " in all pipelines"));
      return;
    }
  });
}

std::vector<ReplicaPipeline> ReplicaPipelinesOf(const ModelSpec& model,
                                                const ReplicatedPlan& plan) {
  std::vector<ReplicaPipeline> replicas;
  for (const PipelineReplica& pipeline : plan.pipelines) {
    const std::vector<PlacedStage>& stages = pipeline.plan.stages;
    const int dp = stages.front().plan.parallelism.dp_degree;
    for (int d = 0; d < dp; ++d) {
      ReplicaPipeline& replica = replicas.emplace_back();
      replica.microbatch_size = pipeline.plan.pipeline_microbatch_size / dp;
      replica.num_microbatches = pipeline.num_microbatches;
      for (const PlacedStage& stage : stages) {
        const int tp = stage.plan.parallelism.tp_degree;
        const auto first = stage.gpus.begin() + d * tp;
        replica.stages.push_back(
            {.num_layers = TransformerLayers(model, stage.plan).size(),
             .gpus = {first, first + tp}});
      }
    }
  }
  return replicas;
}

std::vector<GpuId> GpusOf(const std::vector<ReplicaPipeline>& pipelines) {
  std::vector<GpuId> gpus;
  for (const ReplicaPipeline& pipeline : pipelines) {
    for (const ReplicaStage& stage : pipeline.stages) {
      gpus.insert(gpus.end(), stage.gpus.begin(), stage.gpus.end());
    }
  }
  return gpus;
}

bool HaveOneTpPerLayer(const std::vector<ReplicaPipeline>& pipelines) {
  const std::vector<int> first = TpOfLayers(pipelines.front());
  return std::all_of(pipelines.begin(), pipelines.end(),
                     [&](const ReplicaPipeline& pipeline) {
                       return TpOfLayers(pipeline) == first;
                     });
}

}  // namespace tangram
