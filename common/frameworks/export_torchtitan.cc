#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/frameworks/equal_stages.h"
#include "common/frameworks/lower_plan.h"
#include "common/frameworks/rank_order.h"
#include "common/frameworks/refusal.h"
#include "common/frameworks/targets.h"

// torchtitan (main of 2026-08): one device mesh, any modules in each model
// part, FSDP or replication, all layers recomputed or none.
namespace tangram {
namespace {

// Module names of its own models: Llama 3 and 4, Qwen3, DeepSeek-V3, gpt-oss.
absl::Status CheckModel(const ModelSpec& model) {
  if (model.layers.front().max_position_embeddings > 0) {
    return Refuse("model.layers[0].max_position_embeddings",
                  model.layers.front().max_position_embeddings,
                  "0, as torchtitan's models have rotary positions");
  }
  if (model.layers.back().tied_embeddings) {
    return Refuse("model.layers[0].tied_embeddings", "true",
                  "false: stages of a pipeline do not share weights");
  }
  return absl::OkStatus();
}

// FSDP shards weights; with a pipeline it gathers them once, which is ZeRO-2.
void LowerSharding(PipelinePlan& plan, int zero_stage) {
  for (PlacedStage& stage : plan.stages) {
    stage.plan.parallelism.zero_stage = zero_stage;
  }
}

std::string ModelParts(const ModelSpec& model, const PipelinePlan& plan) {
  std::string parts;
  for (const PlacedStage& stage : plan.stages) {
    absl::StrAppend(&parts, "        [");
    if (HoldsEmbedding(stage.plan))
      absl::StrAppend(&parts, "\"tok_embeddings\"");
    const LayerSpan span = TransformerLayers(model, stage.plan);
    if (span.size() > 0) {
      absl::StrAppend(&parts, HoldsEmbedding(stage.plan) ? ", " : "",
                      "*(f\"layers.{i}\" for i in range(", span.first - 1, ", ",
                      span.last - 1, "))");
    }
    if (HoldsHead(model, stage.plan)) {
      absl::StrAppend(&parts, span.size() > 0 ? ", " : "",
                      "\"norm\", \"lm_head\"");
    }
    absl::StrAppend(&parts, "],\n");
  }
  return parts;
}

std::string ConfigText(const PlannedTraining& in, const PipelinePlan& plan,
                       bool recompute) {
  const StageParallelism& p = plan.stages.front().plan.parallelism;
  const bool sharded = p.zero_stage > 0;
  const int mbs = plan.pipeline_microbatch_size / p.dp_degree;
  const bool interleaved = plan.schedule == PipelineSchedule::kInterleaved;
  std::string text = absl::StrCat(
      "\"\"\"Of torchtitan's configuration what a plan decides.\"\"\"\n\n"
      "from torchtitan.config.configs import ParallelismConfig\n\n"
      "parallelism = ParallelismConfig(\n"
      "    pipeline_parallel_degree=",
      plan.num_devices(), ",\n    tensor_parallel_degree=", p.tp_degree,
      ",\n    enable_sequence_parallel=",
      p.sequence_parallel ? "True" : "False",
      ",\n    context_parallel_degree=", p.cp_degree,
      ",\n    expert_parallel_degree=", p.ep_degree,
      ",\n    data_parallel_shard_degree=", sharded ? p.dp_degree : 1,
      ",\n    data_parallel_replicate_degree=", sharded ? 1 : p.dp_degree,
      ",\n    fsdp_reshard_after_forward=\"",
      p.zero_stage == 3 ? "always" : "never", "\",\n");
  if (plan.num_stages() > 1) {
    absl::StrAppend(&text, "    pipeline_parallel_schedule=\"",
                    interleaved ? "Interleaved1F1B" : "1F1B",
                    "\",\n    pipeline_parallel_microbatch_size=", mbs,
                    ",\n    module_fqns_per_model_part=[\n",
                    ModelParts(in.model, plan), "    ],\n");
  }
  absl::StrAppend(&text,
                  ")\n\n# Of the training and activation_checkpoint "
                  "sections.\nlocal_batch_size = ",
                  in.training.global_batch_size / p.dp_degree,
                  "\nglobal_batch_size = ", in.training.global_batch_size,
                  "\nseq_len = ", in.training.sequence_length,
                  "\nactivation_checkpoint_mode = \"",
                  recompute ? "full" : "none", "\"\n");
  return text;
}

constexpr char kCommand[] = R"(cd "$TORCHTITAN"
export PYTHONPATH="$here:$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec "${torchrun[@]}" -m torchtitan.train "$@"
)";

}  // namespace

absl::StatusOr<FrameworkExport> ExportToTorchTitan(const PlannedTraining& in) {
  PipelinePlan plan = CanonicalPlan(in.model, in.plan);
  if (plan.schedule != PipelineSchedule::kInterleaved) {
    plan.schedule = PipelineSchedule::kOneFOneB;
  }
  TANGRAM_RETURN_IF_ERROR(CheckModel(in.model));
  TANGRAM_RETURN_IF_ERROR(RoundToLayers(in.model, plan));
  int most = 0;
  for (const PlacedStage& stage : plan.stages) {
    most = std::max(most, stage.plan.parallelism.zero_stage);
  }
  TANGRAM_RETURN_IF_ERROR(EqualizeStages(in.model, plan));
  LowerSharding(plan, most == 0 ? 0 : std::max(most, 2));
  const bool recompute = RecomputeAllOrNothing(in.model, plan);
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<RankedHost> hosts,
                           HostsInRankOrder(in.cluster, plan));
  FrameworkExport result{
      .files = {{"tangram_parallelism.py", ConfigText(in, plan, recompute)},
                {"hostfile", HostFileText(hosts)},
                {"launch.sh",
                 LaunchScript("torchtitan", "TORCHTITAN", kCommand),
                 /*executable=*/true}},
      .launch = LaunchHint(hosts, "TORCHTITAN") +
                " --module ... --config ... (a config function that takes "
                "`parallelism` from tangram_parallelism)",
      .training = in.training,
      .guards = {"all stages have the same degrees",
                 "every module is in one model part",
                 "hosts are in the order of the stages"}};
  result.training.bf16_moments = false;
  result.plan = std::move(plan);
  return result;
}

}  // namespace tangram
