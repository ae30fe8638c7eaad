#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "frameworks/hetu_files.h"
#include "frameworks/lower_plan.h"
#include "frameworks/model_details.h"
#include "frameworks/rank_order.h"
#include "frameworks/refusal.h"
#include "frameworks/replica_pipelines.h"
#include "frameworks/targets.h"
#include "frameworks/whole_parts.h"

// Exports to Hetu (PKU-DAIR/Hetu, main of 2025-07), which trains pipelines of
// unlike stages, tp and numbers of microbatches beside one another (Hetu v2,
// 2504.20490; Malleus, 2410.13333). Its trainer sums the losses of all tokens
// and the gradients of all pipelines (llama_model.py, Communication.cc). So
// every sample weighs the same, whatever the shares. Adam does not depend on
// the length of the gradient.
namespace tangram {
namespace {

// Placeholders have a multiple of 16 tokens a pipeline (MAX_TP_DEGREE of
// engine/trainer.py).
constexpr int kMostTp = 16;

// Returns a part of the layer that LlamaLMHeadModel has not; null if there is
// none.
const char* PartUnlikeLlama(const LayerSpec& layer, const LayerSpec& first) {
  if (layer.is_moe()) return "experts";
  if (layer.kv_lora_rank > 0) return "latent attention";
  if (!layer.gated_mlp) return "an MLP without a gate";
  if (layer.norm_bias) return "LayerNorm";
  if (layer.linear_bias || layer.qkv_bias) return "biases";
  if (layer.qk_norm) return "norms on queries and keys";
  if (layer.sliding_window > 0) return "a sliding window";
  return layer == first ? nullptr : "other dimensions than the first";
}

absl::Status CheckHetuModel(const ModelSpec& model) {
  for (int l = 1; l + 1 < model.num_layers(); ++l) {
    const char* other = PartUnlikeLlama(model.layers[l], model.layers[1]);
    if (other == nullptr) continue;
    return Refuse(absl::StrCat("model.layers[", l, "]"), other,
                  "a layer of Llama, as all are in Hetu's LlamaLMHeadModel");
  }
  if (model.layers.front().max_position_embeddings > 0) {
    return Refuse("model.layers[0].max_position_embeddings",
                  model.layers.front().max_position_embeddings,
                  "0, as Llama has rotary positions");
  }
  if (!model.layers.back().tied_embeddings) return absl::OkStatus();
  return Refuse("model.layers[0].tied_embeddings", "true",
                "false, as Hetu's Llama has a head of its own");
}

// Refuses a plan that Hetu cannot divide among the ranks of a stage.
void CheckParts(const PlannedPipelines& in, const ReplicatedPlan& plan,
                size_t r, Obstacles& obstacles) {
  const PipelinePlan& pipeline = plan.pipelines[r].plan;
  const int kv_heads = in.model.layers[1].num_kv_heads;
  for (int i = 0; i < pipeline.num_stages(); ++i) {
    const PlacedStage& stage = pipeline.stages[i];
    const std::string field = PlanPrefix(plan, r) + StageField(i, "");
    const int tp = stage.plan.parallelism.tp_degree;
    if (kMostTp % tp != 0 || kv_heads % tp != 0) {
      obstacles.Refuse(field + ".plan.parallelism.tp_degree", tp,
                       absl::StrCat("a divisor of ", kMostTp, " and of the ",
                                    kv_heads, " heads of keys and values"));
    }
    for (const GpuId& gpu : stage.gpus) {
      const std::string why =
          WhyNotOnDeviceForHetu(in.cluster.nodes[gpu.node].device);
      if (why.empty()) continue;
      obstacles.Refuse(field + ".gpus", in.cluster.nodes[gpu.node].device.type,
                       absl::StrCat("other GPUs: ", why));
      break;
    }
  }
  obstacles.Add(
      InPlan(plan, r, RequireWholeVocabularyParts(in.model, pipeline)));
  obstacles.Add(
      InPlan(plan, r,
             RequireWholeSequenceParts(in.training.sequence_length, pipeline)));
  obstacles.Add(InPlan(plan, r, RequireGroupsOnHosts(in.cluster, pipeline)));
}

void CheckHetuGuards(const PlannedPipelines& in, const ReplicatedPlan& plan,
                     Obstacles& obstacles) {
  obstacles.Add(CheckForHetu(in.model, in.training));
  RequireWholePipelines("the export makes a pipeline of each replica", plan,
                        obstacles);
  RequireDivisibleTp(in.model, plan, obstacles);
  int first = 0;  // Samples of a replica in a microbatch.
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    CheckParts(in, plan, r, obstacles);
    const PipelinePlan& pipeline = plan.pipelines[r].plan;
    const int dp = pipeline.stages.front().plan.parallelism.dp_degree;
    const int samples = pipeline.pipeline_microbatch_size / dp;
    if (r == 0) first = samples;
    if (samples == first) continue;
    obstacles.Refuse(PlanPrefix(plan, r) + "pipeline_microbatch_size",
                     pipeline.pipeline_microbatch_size,
                     absl::StrCat(first * dp, ", ", first,
                                  " for each replica as in pipelines[0], as "
                                  "Hetu has one micro_batch_size"));
  }
}

// LlamaMLP recomputes its activation in chosen layers. No other part of Hetu's
// Llama is recomputed, whatever the configuration says.
OpMask RecomputedByHetu(const LayerSpec& layer, OpMask mask) {
  const absl::Span<const OpKind> ops = OperatorsOf(layer);
  OpMask activation = kRecomputeNone;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i] == OpKind::kMlpActivation) activation |= OpMask{1} << i;
  }
  return mask & activation;
}

absl::StatusOr<PipelinePlan> LowerPipeline(const ModelSpec& model,
                                           const PipelinePlan& planned,
                                           bool zero) {
  PipelinePlan plan = CanonicalPlan(model, planned);
  plan.schedule = PipelineSchedule::kOneFOneB;
  TANGRAM_RETURN_IF_ERROR(RoundToLayers(model, plan));
  TANGRAM_RETURN_IF_ERROR(RequireTransformerLayers(model, plan));
  KeepDegreesOnly(plan);
  for (PlacedStage& stage : plan.stages) {
    // HtMultiParallelRMSNorm always splits norms over tp.
    stage.plan.parallelism.sequence_parallel = true;
    stage.plan.parallelism.zero_stage = zero ? 1 : 0;
    ChangeMasks(
        [&](int layer, OpMask mask) {
          return RecomputedByHetu(model.layers[layer], mask);
        },
        stage.plan);
  }
  return CanonicalPlan(model, std::move(plan));
}

// Returns whether optimizer state is sharded: "zero" counts for all variables.
bool ShardsState(const ReplicatedPlan& plan) {
  if (plan.sync != ReplicaSync::kAllReduce) return true;
  for (const PipelineReplica& replica : plan.pipelines) {
    for (const PlacedStage& stage : replica.plan.stages) {
      const StageParallelism& p = stage.plan.parallelism;
      if (p.zero_stage > 0 && p.dp_degree > 1) return true;
    }
  }
  return false;
}

struct LoweredHetu {
  ReplicatedPlan plan;
  bool zero = false;
};

absl::StatusOr<LoweredHetu> LowerHetu(const PlannedPipelines& in) {
  LoweredHetu lowered{.zero = ShardsState(in.plan)};
  int replicas = 0;
  for (size_t r = 0; r < in.plan.pipelines.size(); ++r) {
    const PipelineReplica& replica = in.plan.pipelines[r];
    absl::StatusOr<PipelinePlan> plan =
        LowerPipeline(in.model, replica.plan, lowered.zero);
    if (!plan.ok()) return InPlan(in.plan, r, plan.status());
    replicas += plan->stages.front().plan.parallelism.dp_degree;
    lowered.plan.pipelines.push_back(
        {.plan = *std::move(plan),
         .num_microbatches = replica.num_microbatches});
  }
  if (!lowered.zero || in.plan.pipelines.size() == 1) return lowered;
  lowered.plan.sync = ReplicaSync::kZero1;
  for (PipelineReplica& replica : lowered.plan.pipelines) {
    const int dp = replica.plan.stages.front().plan.parallelism.dp_degree;
    replica.state_fraction = static_cast<double>(dp) / replicas;
  }
  return lowered;
}

// The layers that each replica recomputes.
std::vector<std::vector<int>> RecomputedLayers(const ModelSpec& model,
                                               const ReplicatedPlan& plan) {
  std::vector<std::vector<int>> recomputed;
  for (const PipelineReplica& replica : plan.pipelines) {
    const std::vector<OpMask> masks = LayerMasks(model, replica.plan);
    std::vector<int> layers;
    for (int l = 1; l + 1 < model.num_layers(); ++l) {
      if (masks[l] != kRecomputeNone) layers.push_back(l - 1);
    }
    const int dp = replica.plan.stages.front().plan.parallelism.dp_degree;
    recomputed.insert(recomputed.end(), dp, layers);
  }
  return recomputed;
}

}  // namespace

absl::Status CheckForHetu(const ModelSpec& model,
                          const TrainingOptions& training) {
  Obstacles obstacles;
  obstacles.Add(CheckHetuModel(model));
  if (training.precision != Precision::kBf16 &&
      training.precision != Precision::kFp32) {
    obstacles.Refuse("training.precision", PrecisionName(training.precision),
                     "bf16 or fp32, which Hetu's trainer has");
  }
  if (training.optimizer != Optimizer::kAdam) {
    obstacles.Refuse("training.optimizer", "sgd",
                     "adam: Hetu sums the gradients of all tokens");
  }
  return obstacles.AsStatus();
}

std::string WhyNotOnDeviceForHetu(const DeviceSpec& device) {
  if (device.supports_flash_attention) return "";
  return absl::StrCat("flash attention does not run on ", device.type,
                      ", and Hetu has no other attention");
}

TrainingOptions TrainingUnderHetu(TrainingOptions training) {
  training.flash_attention = true;
  training.dropout = false;
  training.overlap_grad_reduce = false;
  training.bf16_moments = false;
  training.fused_loss = false;
  return training;
}

absl::StatusOr<FrameworkExport> ExportPipelinesToHetu(
    const PlannedPipelines& in) {
  TANGRAM_ASSIGN_OR_RETURN(LoweredHetu lowered, LowerHetu(in));
  Obstacles obstacles;
  CheckHetuGuards(in, lowered.plan, obstacles);
  TANGRAM_RETURN_IF_ERROR(obstacles.AsStatus());
  HetuPlan plan{.model = in.model,
                .training = in.training,
                .pipelines = ReplicaPipelinesOf(in.model, lowered.plan),
                .recomputed = RecomputedLayers(in.model, lowered.plan)};
  plan.hosts = HostsInOrderOfUse(in.cluster, GpusOf(plan.pipelines));
  plan.devices = RanksOn(plan.hosts);
  plan.zero = lowered.zero && plan.pipelines.size() > 1;
  FrameworkExport result{
      .files = HetuFiles(plan),
      .launch = "HETU=<checkout> bash launch.sh on the first host",
      .training = TrainingUnderHetu(in.training),
      .framework_losses =
          LostDetails(in.model, in.training, {.norm_epsilon = true}),
      .guards = {
          "all stages of a pipeline have one dp, each replica is a "
          "pipeline",
          "all replicas have as many samples in a microbatch",
          "every sample weighs the same, as losses and gradients are "
          "summed",
          "tp divides 16, the heads, the vocabulary, the sequence and "
          "the largest tp of a layer in all pipelines",
          "flash attention runs on all GPUs",
          "the model is a Llama of equal layers",
          "devices are numbered host by host, which the program checks"}};
  result.pipelines = std::move(lowered.plan);
  return result;
}

absl::StatusOr<FrameworkExport> ExportToHetu(const PlannedTraining& in) {
  return ExportAsPipelines(in, ExportPipelinesToHetu);
}

}  // namespace tangram
