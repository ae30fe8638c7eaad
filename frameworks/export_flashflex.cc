#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "frameworks/json_lines.h"
#include "frameworks/lower_plan.h"
#include "frameworks/model_details.h"
#include "frameworks/rank_order.h"
#include "frameworks/refusal.h"
#include "frameworks/targets.h"
#include "frameworks/whole_parts.h"

// Exports to FlashFlex, the runtime of HexiScale
// (Relaxed-System-Lab/FlashFlex). A plan is a list of pipelines, each with the
// tp and layers of its stages. Models are Llama with 4,096 tokens.
namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

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

absl::Status CheckModel(const ModelSpec& model) {
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

void CheckGuards(const PlannedTraining& in, const PipelinePlan& plan,
                 Obstacles& obstacles) {
  obstacles.Add(CheckForFlashFlex(in.model, in.training));
  obstacles.Add(RequireWholeVocabularyParts(in.model, plan));
  if (plan.virtual_stages > 1) {
    obstacles.Refuse("virtual_stages", plan.virtual_stages, "1");
  }
  const int dp = plan.stages.front().plan.parallelism.dp_degree;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const StageParallelism& p = plan.stages[i].plan.parallelism;
    if (p.cp_degree > 1) {
      obstacles.Refuse(StageField(i, ".plan.parallelism.cp_degree"),
                       p.cp_degree,
                       "1, as FlashFlex has no context parallelism");
    }
    if (p.dp_degree == dp) continue;
    obstacles.Refuse(StageField(i, ".plan.parallelism.dp_degree"), p.dp_degree,
                     absl::StrCat(dp,
                                  " as in the first stage: replicas are whole "
                                  "pipelines"));
  }
}

// Writes replica d of every stage as pipeline d.
std::string ConfigText(const PlannedTraining& in, const PipelinePlan& plan) {
  Json tp = Json::array();
  Json layers = Json::array();
  Json devices = Json::array();
  Json ranks = Json::array();
  const int dp = plan.stages.front().plan.parallelism.dp_degree;
  for (int d = 0; d < dp; ++d) {
    std::vector<int> tp_of_pipeline, layers_of_pipeline;
    Json devices_of_pipeline = Json::array();
    Json ranks_of_pipeline = Json::array();
    int first_rank = 0;
    for (const PlacedStage& stage : plan.stages) {
      const int degree = stage.plan.parallelism.tp_degree;
      tp_of_pipeline.push_back(degree);
      layers_of_pipeline.push_back(
          TransformerLayers(in.model, stage.plan).size());
      std::vector<int> on, numbered(degree);
      for (int t = 0; t < degree; ++t) {
        on.push_back(stage.gpus[d * degree + t].node);
      }
      std::iota(numbered.begin(), numbered.end(), first_rank + d * degree);
      devices_of_pipeline.push_back(on);
      ranks_of_pipeline.push_back(numbered);
      first_rank += static_cast<int>(stage.gpus.size());
    }
    tp.push_back(tp_of_pipeline);
    layers.push_back(layers_of_pipeline);
    devices.push_back(devices_of_pipeline);
    ranks.push_back(ranks_of_pipeline);
  }
  return JsonLines(Json{{"hetero_configs", tp},
                        {"layer_partitions", layers},
                        {"devices_id", devices},
                        {"pp_layouts", ranks}});
}

std::string Command(const PlannedTraining& in, const PipelinePlan& plan,
                    bool recompute) {
  const int dp = plan.stages.front().plan.parallelism.dp_degree;
  const LayerSpec& layer = in.model.layers[1];
  const std::vector<int> batch(dp, in.training.global_batch_size / dp);
  const std::vector<int> chunks(
      dp, in.training.global_batch_size / plan.pipeline_microbatch_size);
  const char* precision = in.training.precision == Precision::kBf16 ? " --bf16"
                          : in.training.precision == Precision::kFp16
                              ? " --fp16"
                              : "";
  return absl::StrCat(
      "cd \"$FLASHFLEX\"\nexec \"${torchrun[@]}\" llama_train.py \\\n"
      "  --all_hetero_configs_path \"$here/flashflex.json\" \\\n"
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
      plan.schedule == PipelineSchedule::kGpipe ? "Gpipe" : "1F1B",
      in.training.optimizer == Optimizer::kSgd ? " --optimizer-type sgd" : "",
      in.training.flash_attention ? " --use-flash-attn" : "",
      recompute ? " --checkpoint-layers" : "", " \"$@\"\n");
}

}  // namespace

absl::Status CheckForFlashFlex(const ModelSpec& model,
                               const TrainingOptions& training) {
  Obstacles obstacles;
  obstacles.Add(CheckModel(model));
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

absl::StatusOr<FrameworkExport> ExportToFlashFlex(const PlannedTraining& in) {
  TANGRAM_ASSIGN_OR_RETURN(
      DegreePlan lowered,
      LowerToDegrees(in.model, in.plan, /*keep_gpipe=*/true));
  PipelinePlan plan = std::move(lowered.plan);
  Obstacles obstacles;
  CheckGuards(in, plan, obstacles);
  const auto ranked = HostsInRankOrder(in.cluster, plan);
  obstacles.Add(ranked.status());
  TANGRAM_RETURN_IF_ERROR(obstacles.AsStatus());
  const std::vector<RankedHost>& hosts = *ranked;
  FrameworkExport result{
      .files = {{"flashflex.json", ConfigText(in, plan)},
                {"hostfile", HostFileText(hosts)},
                {"launch.sh",
                 LaunchScript("FlashFlex", "FLASHFLEX",
                              Command(in, plan, lowered.recompute)),
                 /*executable=*/true}},
      .launch = LaunchHint(hosts, "FLASHFLEX"),
      .training = TrainingUnderFlashFlex(in.training),
      .framework_losses = LostDetails(in.model, in.training, {}),
      .guards = {"all stages have one dp, the number of pipelines",
                 "the sequence length is the 4,096 that it trains with",
                 "tp divides the heads and the vocabulary",
                 "the model is a Llama",
                 "hosts are in the order of the stages"}};
  result.plan = std::move(plan);
  return result;
}

}  // namespace tangram
