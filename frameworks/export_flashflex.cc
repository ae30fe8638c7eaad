#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "frameworks/flashflex_corrections.h"
#include "frameworks/flashflex_program.h"
#include "frameworks/json_lines.h"
#include "frameworks/lower_plan.h"
#include "frameworks/model_details.h"
#include "frameworks/rank_order.h"
#include "frameworks/refusal.h"
#include "frameworks/replica_pipelines.h"
#include "frameworks/targets.h"
#include "frameworks/whole_parts.h"

// Exports to FlashFlex, the runtime of HexiScale
// (Relaxed-System-Lab/FlashFlex). A plan is a list of pipelines, each with the
// tp and layers of its stages, and its share of the batch. Models are Llama
// with 4,096 tokens.
namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

// llama/sudo_dataset.py.
constexpr char kLostData[] =
    "data: yours; becomes synthetic, random tokens of random lengths, as "
    "FlashFlex reads no other";

// hexiscale/process_args.py overwrites any other value.
constexpr int kSequenceLength = 4096;

// FlashFlex builds one of four models, chosen by name. Of --hidden_size and
// similar options it reads only the vocabulary and the number of layers. Its
// MLP is that of flash-attn: 8/3 of the hidden size, rounded up.
struct LlamaSize {
  const char* name;
  int hidden_size;
  int num_heads;
};
constexpr LlamaSize kSizes[] = {{"llama-7b", 4096, 32},
                                {"llama-13b", 5120, 40},
                                {"llama-30b", 6656, 52},
                                {"llama-70b", 8192, 64}};
// Llama's inner sizes are multiples of 256, so less than 256 is rounded up.
constexpr int kMostRounding = 256;

// Returns the model of that size; null if there is none.
const LlamaSize* SizeOf(const LayerSpec& layer) {
  const int rounding = layer.ffn_hidden_size - 8 * layer.hidden_size / 3;
  for (const LlamaSize& size : kSizes) {
    if (layer.hidden_size == size.hidden_size &&
        layer.num_heads == size.num_heads && rounding >= 0 &&
        rounding < kMostRounding) {
      return &size;
    }
  }
  return nullptr;
}

// Returns a part of the layer that Llama's has not; null if there is none.
const char* PartUnlikeLlama(const LayerSpec& layer) {
  if (layer.is_moe()) return "experts";
  if (layer.kv_lora_rank > 0) return "latent attention";
  if (!layer.gated_mlp) return "an MLP without a gate";
  if (layer.norm_bias) return "LayerNorm";
  if (layer.linear_bias) return "biases";
  if (layer.num_kv_heads != layer.num_heads) return "grouped-query attention";
  if (layer.sliding_window > 0) return "a sliding window";
  return SizeOf(layer) == nullptr ? "other dimensions" : nullptr;
}

absl::Status CheckFlashFlexModel(const ModelSpec& model) {
  for (int l = 0; l < model.num_layers(); ++l) {
    const LayerSpec& layer = model.layers[l];
    if (layer.kind != LayerKind::kTransformer) continue;
    const char* other = PartUnlikeLlama(layer);
    if (other == nullptr) continue;
    return Refuse(absl::StrCat("model.layers[", l, "]"), other,
                  "a layer of Llama of 7, 13, 30 or 65B, which is what "
                  "FlashFlex builds");
  }
  if (!model.layers.back().tied_embeddings) return absl::OkStatus();
  return Refuse("model.layers[0].tied_embeddings", "true",
                "false, as FlashFlex's embedding is its own");
}

void CheckFlashFlexGuards(const PlannedPipelines& in,
                          const ReplicatedPlan& plan, Obstacles& obstacles) {
  obstacles.Add(CheckForFlashFlex(in.model, in.training));
  RequireWholePipelines("FlashFlex has no context parallelism", plan,
                        obstacles);
  RequireDivisibleTp(in.model, plan, obstacles);
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelinePlan& pipeline = plan.pipelines[r].plan;
    obstacles.Add(
        InPlan(plan, r, RequireWholeVocabularyParts(in.model, pipeline)));
    obstacles.Add(InPlan(plan, r, RequireGroupsOnHosts(in.cluster, pipeline)));
  }
}

// The plan with what FlashFlex has one switch for in all pipelines.
struct LoweredFlashFlex {
  ReplicatedPlan plan;  // Every pipeline keeps all state (--default_dp_type).
  bool recompute = false;
  bool gpipe = true;
};

absl::StatusOr<LoweredFlashFlex> LowerFlashFlex(const PlannedPipelines& in) {
  LoweredFlashFlex lowered;
  for (const PipelineReplica& replica : in.plan.pipelines) {
    lowered.gpipe &= replica.plan.schedule == PipelineSchedule::kGpipe;
  }
  for (size_t r = 0; r < in.plan.pipelines.size(); ++r) {
    const PipelineReplica& replica = in.plan.pipelines[r];
    absl::StatusOr<DegreePlan> degrees =
        LowerToDegrees(in.model, replica.plan, lowered.gpipe);
    if (!degrees.ok()) return InPlan(in.plan, r, degrees.status());
    lowered.recompute |= degrees->recompute;
    lowered.plan.pipelines.push_back(
        {.plan = std::move(degrees->plan),
         .num_microbatches = replica.num_microbatches});
  }
  for (PipelineReplica& replica : lowered.plan.pipelines) {
    if (lowered.recompute) RecomputeAll(in.model, replica.plan);
  }
  return lowered;
}

// Writes each replica as a pipeline.
std::string FlashFlexConfigText(const std::vector<ReplicaPipeline>& pipelines,
                                const std::map<GpuId, int>& ranks) {
  Json tp = Json::array();
  Json layers = Json::array();
  Json devices = Json::array();
  Json layouts = Json::array();
  for (const ReplicaPipeline& pipeline : pipelines) {
    std::vector<int> tp_of_pipeline, layers_of_pipeline;
    Json devices_of_pipeline = Json::array();
    Json layout = Json::array();
    for (const ReplicaStage& stage : pipeline.stages) {
      tp_of_pipeline.push_back(stage.tp());
      layers_of_pipeline.push_back(stage.num_layers);
      std::vector<int> on, numbered;
      for (const GpuId& gpu : stage.gpus) {
        on.push_back(gpu.node);
        numbered.push_back(ranks.at(gpu));
      }
      devices_of_pipeline.push_back(on);
      layout.push_back(numbered);
    }
    tp.push_back(tp_of_pipeline);
    layers.push_back(layers_of_pipeline);
    devices.push_back(devices_of_pipeline);
    layouts.push_back(layout);
  }
  return JsonLines(Json{{"hetero_configs", tp},
                        {"layer_partitions", layers},
                        {"devices_id", devices},
                        {"pp_layouts", layouts}});
}

// Lines that set $flash, with the kernel of flash-attn on hosts that run it.
// The others have FlashFlex's own attention, as in the prediction.
std::string FlashAttentionLines(const PlannedPipelines& in,
                                const std::vector<RankedHost>& hosts) {
  if (!in.training.flash_attention) return "flash=\n";
  std::set<std::string> without;  // GPU types.
  for (const RankedHost& host : hosts) {
    if (in.cluster.nodes[host.node].device.supports_flash_attention) continue;
    without.insert(absl::StrCat("*\" type=", host.type, " \"*"));
  }
  return absl::StrCat(
      "flash=--use-flash-attn\n",
      without.empty()
          ? ""
          : absl::StrCat("case \"$line \" in ", absl::StrJoin(without, " | "),
                         ") flash= ;; esac\n"));
}

std::string Command(const PlannedPipelines& in, const LoweredFlashFlex& lowered,
                    const std::vector<ReplicaPipeline>& pipelines,
                    const std::vector<RankedHost>& hosts,
                    absl::string_view program) {
  const LayerSpec& layer = in.model.layers[1];
  std::vector<int> batch, chunks;
  for (const ReplicaPipeline& pipeline : pipelines) {
    batch.push_back(pipeline.samples());
    chunks.push_back(pipeline.num_microbatches);
  }
  const char* precision = in.training.precision == Precision::kBf16 ? " --bf16"
                          : in.training.precision == Precision::kFp16
                              ? " --fp16"
                              : "";
  return absl::StrCat(
      "# FlashFlex gives rank r device r mod the number of devices.\n"
      "case $line in *gpus=*) ;; *)\n"
      "  export CUDA_VISIBLE_DEVICES=$(seq -s , 0 $((slots - 1))) ;;\nesac\n",
      FlashAttentionLines(in, hosts),
      "cd \"$FLASHFLEX\"\nexec \"${torchrun[@]}\" ", program,
      " \\\n  --all_hetero_configs_path \"$here/flashflex.json\" \\\n"
      "  --model_size ",
      SizeOf(layer)->name, " --overwrite_config 1 --hidden_size ",
      layer.hidden_size, " --num_attention_heads ", layer.num_heads,
      " \\\n  --vocab_size ", in.model.layers.front().vocab_size,
      " --total-layer-num ", in.model.num_layers() - 2,
      " --default_dp_type ddp", precision, " --mixed_precision ",
      PrecisionName(in.training.precision),
      // A list with one entry for each pipeline.
      " \\\n  --global_bsz_size ", absl::StrJoin(batch, " "), " --chunks ",
      absl::StrJoin(chunks, " "), " --pipeline-type ",
      lowered.gpipe ? "Gpipe" : "1F1B",
      in.training.optimizer == Optimizer::kSgd ? " --optimizer-type sgd" : "",
      lowered.recompute ? " --checkpoint-layers" : "", " $flash \"$@\"\n");
}

std::vector<std::string> Guards(const FlashFlexCorrections& corrected) {
  const std::string by = absl::StrCat(", by ", kFlashFlexProgramName);
  std::vector<std::string> guards = {
      "all stages of a pipeline have one dp, each replica is a pipeline",
      "the sequence length is the 4,096 that it trains with",
      "tp divides the heads and the vocabulary",
      "tp of a layer divides the largest of all pipelines",
      "the model is a Llama",
      corrected.weights
          ? absl::StrCat("every sample weighs the same", by,
                         "; losses that it prints are times the weight of "
                         "their pipeline")
          : "every sample weighs the same, as all pipelines have equal shares",
      absl::StrCat("ranks are numbered host by host, and each is in its stage",
                   corrected.stages ? by : "")};
  if (corrected.parts) {
    guards.push_back(
        absl::StrCat("gradients are not averaged over the ranks of tp", by));
  }
  return guards;
}

}  // namespace

absl::Status CheckForFlashFlex(const ModelSpec& model,
                               const TrainingOptions& training) {
  Obstacles obstacles;
  obstacles.Add(CheckFlashFlexModel(model));
  if (training.sequence_length != kSequenceLength) {
    obstacles.Refuse("training.sequence_length", training.sequence_length,
                     "4096, with which FlashFlex always trains");
  }
  if (training.precision == Precision::kFp8) {
    obstacles.Refuse("training.precision", "fp8", "fp32, fp16 or bf16");
  }
  return obstacles.AsStatus();
}

TrainingOptions TrainingUnderFlashFlex(TrainingOptions training) {
  training.overlap_grad_reduce = false;
  training.bf16_moments = false;
  training.fused_loss = false;
  return training;
}

absl::StatusOr<FrameworkExport> ExportPipelinesToFlashFlex(
    const PlannedPipelines& in) {
  TANGRAM_ASSIGN_OR_RETURN(LoweredFlashFlex lowered, LowerFlashFlex(in));
  Obstacles obstacles;
  CheckFlashFlexGuards(in, lowered.plan, obstacles);
  TANGRAM_RETURN_IF_ERROR(obstacles.AsStatus());
  const std::vector<ReplicaPipeline> pipelines =
      ReplicaPipelinesOf(in.model, lowered.plan);
  const std::vector<RankedHost> hosts =
      HostsInOrderOfUse(in.cluster, GpusOf(pipelines));
  const std::map<GpuId, int> ranks = RanksOn(hosts);
  const FlashFlexCorrections corrected =
      CorrectionsForFlashFlex(pipelines, ranks);
  const std::string program =
      corrected.any() ? absl::StrCat("\"$here/", kFlashFlexProgramName, "\"")
                      : "llama_train.py";
  FrameworkExport result{
      .files = {{"flashflex.json", FlashFlexConfigText(pipelines, ranks)},
                {"hostfile", HostFileText(ForDevicesByRank(hosts))},
                {"launch.sh",
                 LaunchScript("FlashFlex", "FLASHFLEX",
                              Command(in, lowered, pipelines, hosts, program)),
                 /*executable=*/true}},
      .launch = LaunchHint(hosts, "FLASHFLEX"),
      .training = TrainingUnderFlashFlex(in.training),
      .framework_losses = LostDetails(in.model, in.training, {}),
      .guards = Guards(corrected)};
  result.framework_losses.push_back(kLostData);
  if (corrected.any()) {
    result.files.push_back({kFlashFlexProgramName, kFlashFlexProgram});
  }
  result.pipelines = std::move(lowered.plan);
  return result;
}

absl::StatusOr<FrameworkExport> ExportToFlashFlex(const PlannedTraining& in) {
  return ExportAsPipelines(in, ExportPipelinesToFlashFlex);
}

}  // namespace tangram
