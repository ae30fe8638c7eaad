#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "frameworks/json_lines.h"
#include "frameworks/lower_plan.h"
#include "frameworks/model_details.h"
#include "frameworks/rank_order.h"
#include "frameworks/refusal.h"
#include "frameworks/targets.h"

// Exports to Sailor's runtime (eth-easl/sailor, deepspeed/topology.py and
// sailor/Controller). Each stage has its own tp and number of layers; dp is the
// same for all. The schedule is DeepSpeed's 1F1B.
namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

// With different dp degrees Sailor silently leaves ranks out of the pipeline
// groups.
void CheckSailorGuards(const PlannedTraining& in, const PipelinePlan& plan,
                       Obstacles& obstacles) {
  obstacles.Add(CheckForSailor(in.model, in.training));
  if (plan.virtual_stages > 1) {
    obstacles.Refuse("virtual_stages", plan.virtual_stages, "1");
  }
  const int dp = plan.stages.front().plan.parallelism.dp_degree;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const StageParallelism& p = plan.stages[i].plan.parallelism;
    if (p.dp_degree != dp) {
      obstacles.Refuse(
          StageField(i, ".plan.parallelism.dp_degree"), p.dp_degree,
          absl::StrCat(dp,
                       " as in the first stage: Sailor would drop the "
                       "ranks of the others"));
    }
    if (p.cp_degree > 1) {
      obstacles.Refuse(StageField(i, ".plan.parallelism.cp_degree"),
                       p.cp_degree, "1, as Sailor has no context parallelism");
    }
    // Groups of neighbouring stages are divided into one another.
    const int next = (i + 1) % plan.num_stages();
    const int tp = plan.stages[next].plan.parallelism.tp_degree;
    if (p.tp_degree % tp != 0 && tp % p.tp_degree != 0) {
      obstacles.Refuse(StageField(next, ".plan.parallelism.tp_degree"), tp,
                       absl::StrCat("a divisor or multiple of the ",
                                    p.tp_degree, " of stages[", i, "]"));
    }
  }
  // DeepSpeed would make one group of tied weights for each of the rank's own
  // tp ranks.
  const int first_tp = plan.stages.front().plan.parallelism.tp_degree;
  const int last_tp = plan.stages.back().plan.parallelism.tp_degree;
  if (in.model.layers.back().tied_embeddings && first_tp != last_tp) {
    obstacles.Refuse(
        StageField(plan.num_stages() - 1, ".plan.parallelism.tp_degree"),
        last_tp,
        absl::StrCat(first_tp,
                     " as in the first stage, whose embedding the head shares "
                     "(tied embeddings)"));
  }
}

// Returns ranks by stage, then replica.
Json RanksOf(const PipelinePlan& plan) {
  Json stages = Json::array();
  int rank = 0;
  for (const PlacedStage& stage : plan.stages) {
    const StageParallelism& p = stage.plan.parallelism;
    Json replicas = Json::array();
    for (int d = 0; d < p.dp_degree; ++d) {
      std::vector<int> ranks(p.tp_degree);
      std::iota(ranks.begin(), ranks.end(), rank);
      rank += p.tp_degree;
      replicas.push_back(ranks);
    }
    stages.push_back(replicas);
  }
  return stages;
}

std::string ClusterConfig(const PlannedTraining& in, const PipelinePlan& plan) {
  const int dp = plan.stages.front().plan.parallelism.dp_degree;
  std::vector<int> layers;
  std::vector<std::string> nodes;
  for (const PlacedStage& stage : plan.stages) {
    const int tp = stage.plan.parallelism.tp_degree;
    layers.push_back(TransformerLayers(in.model, stage.plan).size());
    for (int d = 0; d < dp; ++d) {
      nodes.push_back(in.cluster.nodes[stage.gpus[d * tp].node].name);
    }
  }
  return JsonLines(
      Json{{"pipeline_parallelism", plan.num_stages()},
           {"data_parallelism", dp},
           {"tp_degrees", RanksOf(plan)},
           // Samples of one replica.
           {"microbatch_size", plan.pipeline_microbatch_size / dp},
           {"global_batch_size", in.training.global_batch_size},
           {"gradient_accumulation_steps",
            in.training.global_batch_size / plan.pipeline_microbatch_size},
           {"sequence_length", in.training.sequence_length},
           {"num_layers_per_stage", layers},
           {"node_list", nodes}});
}

}  // namespace

absl::Status CheckForSailor(const ModelSpec& model, const TrainingOptions&) {
  for (int l = 0; l < model.num_layers(); ++l) {
    const LayerSpec& layer = model.layers[l];
    if (!layer.is_moe() && layer.kv_lora_rank == 0) continue;
    return Refuse(absl::StrCat("model.layers[", l, "]"),
                  layer.is_moe() ? "experts" : "latent attention",
                  "a dense layer of OPT, GPT-Neo or Llama");
  }
  return absl::OkStatus();
}

TrainingOptions TrainingUnderSailor(TrainingOptions training) {
  training.overlap_grad_reduce = false;
  training.bf16_moments = false;
  training.fused_loss = false;
  return training;
}

absl::StatusOr<FrameworkExport> ExportToSailor(const PlannedTraining& in) {
  TANGRAM_ASSIGN_OR_RETURN(
      DegreePlan lowered,
      LowerToDegrees(in.model, in.plan, /*keep_gpipe=*/false));
  PipelinePlan plan = std::move(lowered.plan);
  Obstacles obstacles;
  CheckSailorGuards(in, plan, obstacles);
  const auto ranked = HostsInRankOrder(in.cluster, plan);
  obstacles.Add(ranked.status());
  TANGRAM_RETURN_IF_ERROR(obstacles.AsStatus());
  if (in.plan_only) {
    return FrameworkExport{.training = TrainingUnderSailor(in.training),
                           .plan = std::move(plan)};
  }
  const std::vector<RankedHost>& hosts = *ranked;
  FrameworkExport result{
      .files = {{"dist_config.json", RanksOf(plan).dump() + "\n"},
                {"cluster_config.json", ClusterConfig(in, plan)},
                {"hostfile", HostFileText(hosts)}},
      .launch =
          "give cluster_config.json to update_nodes() of "
          "sailor/Controller, dist_config.json to its workers",
      .training = TrainingUnderSailor(in.training),
      .framework_losses = LostDetails(in.model, in.training, {}),
      .guards = {"all stages have one dp",
                 "tp of neighbouring stages divide one another",
                 "tied embeddings: first and last stage have the same tp",
                 "hosts are in the order of the stages"}};
  result.plan = std::move(plan);
  return result;
}

}  // namespace tangram
