#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "common/domain/closed_segments.h"
#include "frameworks/flexpipe_operators.h"
#include "frameworks/json_lines.h"
#include "frameworks/lower_plan.h"
#include "frameworks/model_details.h"
#include "frameworks/rank_order.h"
#include "frameworks/refusal.h"
#include "frameworks/targets.h"

// Exports to FlexPipe, Aceso's runtime (microsoft/SuperScaler, branch Aceso,
// runtime/). Models are GPTs with learned positions, LayerNorm and biases.
//
// Its format has stages of any operators, each operator with its own tp and dp,
// and recomputation of any operators. It trains less than that rightly:
// - Only the main output of a stage carries gradients to the stage before. A
//   residual or values that skip a border get none, so borders are residual
//   cuts.
// - Tensors that skip the end of a recomputed segment come from a region
//   without gradients, so segments are closed.
// - A stage divides its gradients by its own dp, and the loss is divided by the
//   last stage's, so all stages have one dp.
// - The gradients of embedding and head, where they share weights, become a
//   tensor outside the buffers of float32 sums. Nothing sets it to zero, so
//   that it adds up over iterations. bfloat16 always has these buffers.
// - One stage has one storage for both, which the float32 optimizer moves
// twice.
// - The norm for clipping also sums over replicas, so it is sqrt(dp) too large.
namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

// Returns a part of the layer that GPT-3's has not; null if there is none.
const char* PartUnlikeGpt3(const LayerSpec& layer) {
  if (layer.is_moe()) return "experts";
  if (layer.gated_mlp) return "a gated MLP";
  if (layer.kv_lora_rank > 0) return "latent attention";
  if (layer.num_kv_heads != layer.num_heads) return "grouped-query attention";
  if (layer.sliding_window > 0) return "a sliding window";
  if (layer.qk_norm) return "norms of queries and keys";
  if (!layer.norm_bias) return "RMSNorm";
  return layer.linear_bias ? nullptr : "no biases";
}

absl::Status CheckAcesoModel(const ModelSpec& model) {
  for (int l = 0; l < model.num_layers(); ++l) {
    const LayerSpec& layer = model.layers[l];
    if (layer.kind != LayerKind::kTransformer) continue;
    const char* other = PartUnlikeGpt3(layer);
    if (other != nullptr) {
      return Refuse(absl::StrCat("model.layers[", l, "]"), other,
                    "a layer of GPT-3, which is what FlexPipe builds");
    }
    if (layer != model.layers[1]) {
      return Refuse(absl::StrCat("model.layers[", l, "]"), "other dimensions",
                    "those of the first layer");
    }
  }
  return absl::OkStatus();
}

// Returns `value` for each FlexPipe operator of a stage.
std::vector<int> PerOperator(int num_ops, int value) {
  return std::vector<int>(num_ops, value);
}

// Returns 0 or 1 for each FlexPipe operator of the stage. The four operators of
// an attention core share the bit of ours.
std::vector<int> RecomputedOps(const ModelSpec& model, const StagePlan& stage) {
  std::vector<OpMask> masks;
  for (const RecomputeRun& run : stage.recompute) {
    masks.insert(masks.end(), run.num_layers, run.mask);
  }
  const std::vector<OperatorCut> order = FlexPipeOrder(model);
  const int end = FlexPipeIndex(model, stage.end);
  std::vector<int> recomputed;
  for (int i = FlexPipeIndex(model, stage.begin); i < end; ++i) {
    const OpMask mask = masks[order[i].layer - stage.begin.layer];
    recomputed.push_back((mask >> order[i].op) & 1);
  }
  return recomputed;
}

// Refuses what FlexPipe cannot run in a stage, and a dp other than the first
// stage's.
void CheckStage(const PipelinePlan& plan, int index, Obstacles& obstacles) {
  const StageParallelism& p = plan.stages[index].plan.parallelism;
  if (p.cp_degree > 1) {
    obstacles.Refuse(StageField(index, ".plan.parallelism.cp_degree"),
                     p.cp_degree, "1, as FlexPipe has no context parallelism");
  }
  const int dp = plan.stages.front().plan.parallelism.dp_degree;
  if (p.dp_degree != dp) {
    obstacles.Refuse(StageField(index, ".plan.parallelism.dp_degree"),
                     p.dp_degree,
                     absl::StrCat(dp,
                                  " as in the first stage: FlexPipe divides "
                                  "the gradients of a stage by its own dp, and "
                                  "the loss by that of the last stage"));
  }
  // The loss returns to the first stage, so that stage follows the last.
  const int next = (index + 1) % plan.num_stages();
  const int tp = plan.stages[next].plan.parallelism.tp_degree;
  if (p.tp_degree % tp == 0 || tp % p.tp_degree == 0) return;
  obstacles.Refuse(StageField(next, ".plan.parallelism.tp_degree"), tp,
                   absl::StrCat("a divisor or multiple of the ", p.tp_degree,
                                " of stages[", index, "], which is before it"));
}

void CheckAcesoGuards(const PlannedTraining& in, const PipelinePlan& plan,
                      Obstacles& obstacles) {
  obstacles.Add(CheckForAceso(in.model, in.training));
  if (plan.virtual_stages > 1) {
    obstacles.Refuse("virtual_stages", plan.virtual_stages, "1");
  }
  if (plan.num_stages() == 1 && in.training.precision == Precision::kFp32 &&
      in.model.layers.back().tied_embeddings) {
    obstacles.Refuse("stages", "1 stage in fp32 with tied embeddings",
                     "2 or more, as FlexPipe would move the embedding twice");
  }
  int world = 0;
  for (int i = 0; i < plan.num_stages(); ++i) {
    CheckStage(plan, i, obstacles);
    world += static_cast<int>(plan.stages[i].gpus.size());
  }
  if (AcesoAcceptsGpus(world)) return;
  obstacles.Refuse("stages", absl::StrCat(world, " GPUs"),
                   "1, 2 or a multiple of 4 in all");
}

// Changes training to what FlexPipe does.
TrainingOptions LowerTraining(const PlannedTraining& in) {
  TrainingOptions training = TrainingUnderAceso(in.training);
  const bool any_flash =
      absl::c_any_of(in.plan.stages, [&](const PlacedStage& stage) {
        const Node& node = in.cluster.nodes[stage.gpus.front().node];
        return node.device.supports_flash_attention;
      });
  // It has no effect, so it is not reported as a loss.
  if (!any_flash) training.flash_attention = in.training.flash_attention;
  return training;
}

// Drops sequence parallelism, ZeRO, 2-D tensor parallelism, sharded experts and
// offloading, which FlexPipe lacks, and closes the recomputed segments.
void LowerAcesoStages(const ModelSpec& model, PipelinePlan& plan) {
  plan.schedule = PipelineSchedule::kOneFOneB;
  for (PlacedStage& stage : plan.stages) {
    StageParallelism& p = stage.plan.parallelism;
    p.sequence_parallel = false;
    p.zero_stage = 0;
    p.zero_degree = 0;
    p.fsep = false;
    p.tp_y_degree = 1;
    stage.plan.offload = HostOffload();
    // FlexPipe never recomputes embedding and head, and keeps outputs.
    ChangeMasks(
        [&](int layer, OpMask mask) {
          const LayerSpec& spec = model.layers[layer];
          return spec.kind == LayerKind::kTransformer
                     ? CloseSegments(spec, mask & ~kDropOutputs)
                     : kRecomputeNone;
        },
        stage.plan);
  }
}

// Writes flexpipe.json: lists with one entry a stage, some of them with one
// entry an operator.
std::string AcesoConfigText(const PlannedTraining& in,
                            const PipelinePlan& plan) {
  const LayerSpec& layer = in.model.layers[1];
  Json config = {
      {"model_name", "gpt"},
      {"model_size", in.model.name},
      {"num_layers", in.model.num_layers() - 2},
      {"seq_length", in.training.sequence_length},
      {"max_position_embeddings",
       in.model.layers.front().max_position_embeddings},
      {"num_attention_heads", layer.num_heads},
      {"hidden_size", layer.hidden_size},
      {"global_batch_size", in.training.global_batch_size},
      {"micro_batch_size", plan.pipeline_microbatch_size},
      {"num_stages", plan.num_stages()},
  };
  for (const char* list :
       {"num_gpus", "checkpoint_activations", "resharding_stages",
        "num_ops_in_each_stage", "model_parallel_size_of_each_op",
        "data_parallel_size_of_each_op", "recompute_ops", "algo_of_each_op"}) {
    config[list] = Json::array();
  }
  for (const PlacedStage& stage : plan.stages) {
    const StageParallelism& p = stage.plan.parallelism;
    const int num_ops = FlexPipeIndex(in.model, stage.plan.end) -
                        FlexPipeIndex(in.model, stage.plan.begin);
    const std::vector<int> recomputed = RecomputedOps(in.model, stage.plan);
    config["num_gpus"].push_back(stage.gpus.size());
    config["checkpoint_activations"].push_back(
        absl::c_linear_search(recomputed, 1));
    config["resharding_stages"].push_back(false);
    config["num_ops_in_each_stage"].push_back(num_ops);
    config["model_parallel_size_of_each_op"].push_back(
        PerOperator(num_ops, p.tp_degree));
    config["data_parallel_size_of_each_op"].push_back(
        PerOperator(num_ops, p.dp_degree));
    config["recompute_ops"].push_back(recomputed);
    config["algo_of_each_op"].push_back(PerOperator(num_ops, 0));
  }
  return JsonLines(config);
}

// GPT-2's tokenizer, the only one of FlexPipe's GPT.
constexpr int kTokenizerWords = 50257;

// Returns the vocabulary that FlexPipe makes if it pads the tokenizer's words
// to a multiple of `divisor` in each rank of the highest tp.
int PaddedVocabulary(int divisor, int max_tp) {
  const int multiple = divisor * max_tp;
  return (kTokenizerWords + multiple - 1) / multiple * multiple;
}

// Returns the divisor with which FlexPipe makes the model's vocabulary, or else
// its own default.
int VocabularyDivisor(int vocabulary, int max_tp) {
  constexpr int kDefault = 128;  // --make-vocab-size-divisible-by
  const bool possible =
      vocabulary >= kTokenizerWords && vocabulary % max_tp == 0;
  return possible ? vocabulary / max_tp : kDefault;
}

// Returns what no plan changes: the data, the vocabulary where it cannot be the
// model's, and details of the model.
std::vector<std::string> AlwaysLost(const PlannedTraining& in, int max_tp) {
  std::vector<std::string> losses = {
      "data: yours; becomes synthetic, every token and label 0 and a random "
      "attention mask, as FlexPipe reads no other"};
  const int planned = in.model.layers.front().vocab_size;
  const int run = PaddedVocabulary(VocabularyDivisor(planned, max_tp), max_tp);
  if (run != planned) {
    losses.push_back(absl::StrCat("model.vocab_size: ", planned, "; becomes ",
                                  run, ", GPT-2's ", kTokenizerWords,
                                  " padded"));
  }
  absl::c_copy(LostDetails(in.model, in.training,
                           {.norm_epsilon = true, .dropout_rates = true}),
               std::back_inserter(losses));
  return losses;
}

int MaxTp(const PipelinePlan& plan) {
  int most = 1;
  for (const PlacedStage& stage : plan.stages) {
    most = std::max(most, stage.plan.parallelism.tp_degree);
  }
  return most;
}

std::string Command(const PlannedTraining& in, const TrainingOptions& training,
                    const PipelinePlan& plan) {
  const LayerSpec& layer = in.model.layers[1];
  std::string options =
      absl::StrCat(" \\\n  --ffn-hidden-size ", layer.ffn_hidden_size,
                   " --kv-channels ", layer.head_dim, " --optimizer ",
                   training.optimizer == Optimizer::kAdam ? "adam" : "sgd");
  if (training.precision == Precision::kFp16) options += " --fp16";
  if (training.precision == Precision::kBf16) options += " --bf16";
  if (training.fp32_gradients) {
    options += " --accumulate-allreduce-grads-in-fp32";
  }
  const DropoutRates dropout = DropoutOf(in.model, training);
  absl::StrAppend(&options, " --attention-dropout ",
                  DetailText(dropout.attention), " --hidden-dropout ",
                  DetailText(dropout.hidden));
  if (in.model.details.norm_epsilon > 0) {
    absl::StrAppend(&options, " --layernorm-epsilon ",
                    DetailText(in.model.details.norm_epsilon));
  }
  const int max_tp = MaxTp(plan);
  absl::StrAppend(
      &options, " --make-vocab-size-divisible-by ",
      VocabularyDivisor(in.model.layers.front().vocab_size, max_tp));
  // Stages with different tp degrees send parts of a sequence.
  if (training.sequence_length % max_tp != 0) {
    options += " --no-scatter-gather-tensors-in-pipeline";
  }
  const bool tied = in.model.layers.back().tied_embeddings;
  return absl::StrCat(tied ? "" : "export ENABLE_WEIGHT_SHARE=0\n",
                      R"(cd "$ACESO/runtime"
mkdir -p "${LOG_PATH:-$here/logs/}csv"
exec "${torchrun[@]}" pretrain_gpt.py \
  --flexpipe-config "$here/flexpipe.json" --log-path "${LOG_PATH:-$here/logs/}" \
  --vocab-file vocabs/gpt2-vocab.json --merge-file vocabs/gpt2-merges.txt \
  --train-iters 3 --eval-iters 0 --log-interval 1 \
  --lr 0.00015 --min-lr 1.0e-5 --clip-grad )",
                      std::sqrt(plan.stages.front().plan.parallelism.dp_degree),
                      R"( \
  --DDP-impl local --distributed-backend nccl)",
                      options, " \"$@\"\n");
}

}  // namespace

absl::Status CheckForAceso(const ModelSpec& model,
                           const TrainingOptions& training) {
  Obstacles obstacles;
  if (training.precision == Precision::kFp8) {
    obstacles.Refuse("training.precision", "fp8", "fp32, fp16 or bf16");
  }
  if (training.precision == Precision::kBf16 &&
      model.layers.back().tied_embeddings) {
    obstacles.Refuse("training.precision", "bf16 with tied embeddings",
                     "fp32 or fp16: in bf16, FlexPipe adds the gradients of "
                     "earlier iterations to the embedding's");
  }
  obstacles.Add(CheckAcesoModel(model));
  if (model.layers.front().max_position_embeddings == 0) {
    obstacles.Refuse("model.layers[0].max_position_embeddings", "0",
                     "learned positions, which FlexPipe's GPT has");
  }
  return obstacles.AsStatus();
}

// FlexPipe makes groups of 2 and of 4 ranks even if they are not used.
bool AcesoAcceptsGpus(int num_gpus) {
  return num_gpus <= 2 || num_gpus % 4 == 0;
}

TrainingOptions TrainingUnderAceso(TrainingOptions training) {
  training.flash_attention = false;
  training.fp32_gradients = training.precision == Precision::kBf16;
  training.overlap_grad_reduce = false;
  training.bf16_moments = false;
  training.fused_loss = false;
  return training;
}

absl::StatusOr<FrameworkExport> ExportToAceso(const PlannedTraining& in) {
  PipelinePlan plan = CanonicalPlan(in.model, in.plan);
  Obstacles obstacles;
  CheckAcesoGuards(in, plan, obstacles);
  obstacles.Add(RoundToResiduals(in.model, plan));
  const absl::StatusOr<std::vector<RankedHost>> ranked =
      HostsInRankOrder(in.cluster, plan);
  obstacles.Add(ranked.status());
  TANGRAM_RETURN_IF_ERROR(obstacles.AsStatus());
  const std::vector<RankedHost>& hosts = *ranked;
  LowerAcesoStages(in.model, plan);
  FrameworkExport result{
      .training = LowerTraining(in),
      .framework_losses = AlwaysLost(in, MaxTp(plan)),
      .guards = {"all stages have one dp",
                 ("tp of neighbouring stages divide one another, the last and "
                  "the first included"),
                 "every replica's microbatch is whole",
                 "the number of GPUs is 1, 2 or a multiple of 4",
                 "nothing but the main output crosses the border of a stage",
                 "nothing but its output leaves a recomputed segment",
                 "the model is one that FlexPipe builds",
                 "hosts are in the order of the stages"}};
  result.files = {
      {"flexpipe.json", AcesoConfigText(in, plan)},
      {"hostfile", HostFileText(hosts)},
      {"launch.sh",
       LaunchScript("Aceso", "ACESO", Command(in, result.training, plan)),
       /*executable=*/true}};
  result.launch = LaunchHint(hosts, "ACESO");
  result.plan = std::move(plan);
  return result;
}

}  // namespace tangram
