#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "frameworks/equal_stages.h"
#include "frameworks/lower_plan.h"
#include "frameworks/model_details.h"
#include "frameworks/rank_order.h"
#include "frameworks/refusal.h"
#include "frameworks/targets.h"
#include "frameworks/whole_parts.h"

// Exports to torchtitan (main of 2026-08). There is one device mesh, model
// parts hold any modules, weights use FSDP or are replicated, and either all
// layers or none are recomputed.
namespace tangram {
namespace {

// FSDP shards weights. With a pipeline it gathers them once, as ZeRO-2 does.
// Experts are spread over the ranks that share weights in this way.
void LowerSharding(int most_planned, PipelinePlan& plan) {
  const bool experts = plan.stages.front().plan.parallelism.ep_degree > 1;
  const int zero_stage =
      most_planned > 0 || experts ? std::max(most_planned, 2) : 0;
  for (PlacedStage& stage : plan.stages) {
    stage.plan.parallelism.zero_stage = zero_stage;
  }
}

// Returns losses that the settings of the plan do not show.
std::vector<std::string> ExpertLosses(const PipelinePlan& plan) {
  const StageParallelism& p = plan.stages.front().plan.parallelism;
  if (p.ep_degree == 1 || p.tp_degree == 1) return {};
  return {absl::StrCat("experts: split by tp ", p.tp_degree, " in ep ",
                       p.ep_degree, "; becomes ep ", p.ep_degree,
                       " alone, whose ranks are those of tp first")};
}

// Writes the module names of each stage, one list for each model part.
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

// Writes degrees and schedule. ZeRO becomes FSDP; without it, and beyond
// zero_degree, weights are replicated.
std::string ParallelismText(const PlannedTraining& in,
                            const PipelinePlan& plan) {
  const StageParallelism& p = plan.stages.front().plan.parallelism;
  const int replicate = p.zero_stage > 0 ? p.num_shard_groups() : p.dp_degree;
  const bool interleaved = plan.schedule == PipelineSchedule::kInterleaved;
  std::string text = absl::StrCat(
      "parallelism = ParallelismConfig(\n    pipeline_parallel_degree=",
      plan.num_devices(), ",\n    tensor_parallel_degree=", p.tp_degree,
      ",\n    enable_sequence_parallel=",
      p.sequence_parallel ? "True" : "False",
      ",\n    context_parallel_degree=", p.cp_degree,
      ",\n    expert_parallel_degree=", p.ep_degree,
      ",\n    data_parallel_shard_degree=", p.dp_degree / replicate,
      ",\n    data_parallel_replicate_degree=", replicate,
      ",\n    fsdp_reshard_after_forward=\"",
      p.zero_stage == 3 ? "always" : "never", "\",\n");
  if (plan.num_stages() > 1) {
    absl::StrAppend(
        &text, "    pipeline_parallel_schedule=\"",
        interleaved ? "Interleaved1F1B" : "1F1B",
        "\",\n    num_pp_microbatches=",
        in.training.global_batch_size / plan.pipeline_microbatch_size,
        ",\n    module_fqns_per_model_part=[\n", ModelParts(in.model, plan),
        "    ],\n");
  }
  return text + ")\n";
}

// Writes batches in tokens. Without a pipeline torchtitan accumulates the
// microbatches of a step. CUDA graphs support neither pipelines nor most
// experts.
std::string TrainingText(const PlannedTraining& in, const PipelinePlan& plan) {
  const StageParallelism& p = plan.stages.front().plan.parallelism;
  const bool cuda_graphs = plan.num_devices() == 1 && p.ep_degree == 1;
  const int64_t tokens = in.training.sequence_length;
  return absl::StrCat(
      "training = dict(\n    max_context_length=", tokens,
      ",\n    num_tokens_per_microbatch_per_dp_rank=",
      plan.pipeline_microbatch_size / p.dp_degree * tokens,
      ",\n    num_tokens_per_train_step=",
      in.training.global_batch_size * tokens, ",\n    mixed_precision_param=\"",
      in.training.precision == Precision::kBf16 ? "bfloat16" : "float32",
      "\",\n    disable_cuda_graphs=", cuda_graphs ? "False" : "True",
      ",\n)\n");
}

// $0 parallelism, $1 training, $2 recomputation, $3 transformer layers.
constexpr char kModule[] =
    R"("""The part of torchtitan's configuration that a plan decides.

Train with --module tangram_plan --config planned.
"""

import dataclasses
import importlib
import os

from torchtitan.config import ParallelismConfig
from torchtitan.distributed.activation_checkpoint import FullAC

$0
$1
activation_checkpoint = $2


def planned():
    """The configuration that TORCHTITAN_CONFIG names, with the plan."""
    model, function = os.environ["TORCHTITAN_CONFIG"].split(".")
    registry = importlib.import_module(
        f"torchtitan.models.{model}.config_registry")
    config = getattr(registry, function)()
    layers = len(config.model_spec.model.layers)
    if layers != $3:  # It would leave out those of no stage.
        raise SystemExit(f"{function}: {layers} layers; expected $3")
    return dataclasses.replace(
        config, parallelism=parallelism,
        training=dataclasses.replace(config.training, **training),
        activation_checkpoint=activation_checkpoint)
)";

std::string ModuleText(const PlannedTraining& in, const PipelinePlan& plan,
                       bool recompute) {
  return absl::Substitute(
      kModule, ParallelismText(in, plan), TrainingText(in, plan),
      recompute ? "FullAC.Config()" : "None", in.model.num_layers() - 2);
}

// Refuses a microbatch that torchtitan cannot split, which stops it at run
// time.
absl::Status CheckMicrobatch(const PlannedTraining& in,
                             const PipelinePlan& plan) {
  const StageParallelism& p = plan.stages.front().plan.parallelism;
  const int parts = (p.sequence_parallel ? p.tp_degree : 1) *
                    (p.cp_degree > 1 ? 2 * p.cp_degree : 1);
  const int64_t tokens = int64_t{in.training.sequence_length} *
                         plan.pipeline_microbatch_size / p.dp_degree;
  if (tokens % parts == 0) return absl::OkStatus();
  return Refuse("training.sequence_length", in.training.sequence_length,
                absl::StrCat(tokens, " tokens of a microbatch to be cut into ",
                             parts, " parts"));
}

constexpr char kTorchTitanCommand[] = R"(cd "$TORCHTITAN"
: "${TORCHTITAN_CONFIG:?must name a configuration, e.g. llama3.llama3_8b}"
export PYTHONPATH="$here:$PWD${PYTHONPATH:+:$PYTHONPATH}" TORCHTITAN_CONFIG
exec "${torchrun[@]}" -m torchtitan.train --module tangram_plan \
  --config planned "$@"
)";

}  // namespace

// Refuses models that torchtitan lacks. It has Llama 3 and 4, Qwen3,
// DeepSeek-V3 and gpt-oss.
absl::Status CheckForTorchTitan(const ModelSpec& model,
                                const TrainingOptions& training) {
  Obstacles obstacles;
  if (model.layers.front().max_position_embeddings > 0) {
    obstacles.Refuse("model.layers[0].max_position_embeddings",
                     model.layers.front().max_position_embeddings,
                     "0, as torchtitan's models have rotary positions");
  }
  if (model.layers.back().tied_embeddings) {
    obstacles.Refuse("model.layers[0].tied_embeddings", "true",
                     "false: stages of a pipeline do not share weights");
  }
  const Precision precision = training.precision;
  if (precision != Precision::kBf16 && precision != Precision::kFp32) {
    obstacles.Refuse("training.precision", PrecisionName(precision),
                     "bf16 or fp32, which torchtitan trains in");
  }
  if (training.optimizer != Optimizer::kAdam) {
    obstacles.Refuse("training.optimizer", "sgd", "adam, which torchtitan has");
  }
  return obstacles.AsStatus();
}

TrainingOptions TrainingUnderTorchTitan(TrainingOptions training) {
  if (training.precision == Precision::kBf16) training.fp32_gradients = true;
  training.bf16_moments = false;
  training.dropout = false;
  return training;
}

absl::StatusOr<FrameworkExport> ExportToTorchTitan(const PlannedTraining& in) {
  PipelinePlan plan = CanonicalPlan(in.model, in.plan);
  if (plan.schedule != PipelineSchedule::kInterleaved) {
    plan.schedule = PipelineSchedule::kOneFOneB;
  }
  Obstacles obstacles;
  obstacles.Add(CheckForTorchTitan(in.model, in.training));
  obstacles.Add(RoundToLayers(in.model, plan));
  int most = 0;
  for (const PlacedStage& stage : plan.stages) {
    most = std::max(most, stage.plan.parallelism.zero_stage);
  }
  const absl::Status equal = EqualizeStages(in.model, plan);
  obstacles.Add(equal);
  if (equal.ok()) {
    LowerSharding(most, plan);
    obstacles.Add(CheckMicrobatch(in, plan));
  }
  obstacles.Add(RequireWholeVocabularyParts(in.model, plan));
  const auto ranked = HostsInRankOrder(in.cluster, plan);
  obstacles.Add(ranked.status());
  TANGRAM_RETURN_IF_ERROR(obstacles.AsStatus());
  const std::vector<RankedHost>& hosts = *ranked;
  const bool recompute = RecomputeAllOrNothing(in.model, plan);
  FrameworkExport result{
      .files = {{"tangram_plan.py", ModuleText(in, plan, recompute)},
                {"hostfile", HostFileText(hosts)},
                {"launch.sh",
                 LaunchScript("torchtitan", "TORCHTITAN", kTorchTitanCommand),
                 /*executable=*/true}},
      .launch = LaunchHint(hosts, "TORCHTITAN") +
                ", with TORCHTITAN_CONFIG=<model>.<configuration>, e.g. "
                "llama3.llama3_8b",
      .training = TrainingUnderTorchTitan(in.training),
      .losses = ExpertLosses(plan),
      .framework_losses = LostDetails(in.model, in.training, {}),
      .guards = {"all stages have the same degrees",
                 "a microbatch can be cut into the parts of tp and cp",
                 "every module is in one model part, and the configuration has "
                 "as many layers",
                 "hosts are in the order of the stages"}};
  result.plan = std::move(plan);
  return result;
}

}  // namespace tangram
