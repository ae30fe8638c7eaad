#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "frameworks/flexpipe_operators.h"
#include "frameworks/json_lines.h"
#include "frameworks/lower_plan.h"
#include "frameworks/rank_order.h"
#include "frameworks/refusal.h"
#include "frameworks/targets.h"

// Exports to FlexPipe, Aceso's runtime (microsoft/SuperScaler, branch Aceso,
// runtime/). Stages hold any operators, each operator has its own tp and dp,
// and any operators are recomputed. Models are GPTs with learned positions,
// LayerNorm and biases.
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

absl::Status CheckModel(const ModelSpec& model) {
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
  if (model.layers.front().max_position_embeddings > 0) return absl::OkStatus();
  return Refuse("model.layers[0].max_position_embeddings", "0",
                "learned positions, which FlexPipe's GPT has");
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

// Returns whether either degree divides the other.
bool Divide(int a, int b) { return a % b == 0 || b % a == 0; }

// Refuses what FlexPipe cannot run in a stage, and degrees of the next stage
// that it cannot exchange with.
absl::Status CheckStage(const ModelSpec& model, const PipelinePlan& plan,
                        int index) {
  const StagePlan& stage = plan.stages[index].plan;
  const StageParallelism& p = stage.parallelism;
  const std::string field = absl::StrCat("stages[", index, "]");
  if (p.cp_degree > 1) {
    return Refuse(field + ".plan.parallelism.cp_degree", p.cp_degree,
                  "1, as FlexPipe has no context parallelism");
  }
  if (LiesUnderSkippingTensor(model, FlexPipeIndex(model, stage.begin),
                              FlexPipeIndex(model, stage.end))) {
    return Refuse(field, "a stage inside an attention or an MLP block",
                  "more operators: FlexPipe sends a residual to the next stage "
                  "and no further");
  }
  // The loss returns to the first stage, so that stage follows the last.
  const int next = (index + 1) % plan.num_stages();
  const StageParallelism& q = plan.stages[next].plan.parallelism;
  const std::string next_field =
      absl::StrCat("stages[", next, "].plan.parallelism");
  if (!Divide(p.tp_degree, q.tp_degree)) {
    return Refuse(next_field + ".tp_degree", q.tp_degree,
                  absl::StrCat("a divisor or multiple of the ", p.tp_degree,
                               " of stages[", index, "], which is before it"));
  }
  if (!Divide(p.dp_degree, q.dp_degree)) {
    return Refuse(next_field + ".dp_degree", q.dp_degree,
                  absl::StrCat("a divisor or multiple of the ", p.dp_degree,
                               " of stages[", index, "], which is before it"));
  }
  return absl::OkStatus();
}

absl::Status CheckGuards(const PlannedTraining& in, const PipelinePlan& plan) {
  TANGRAM_RETURN_IF_ERROR(CheckForAceso(in.model, in.training));
  if (plan.virtual_stages > 1) {
    return Refuse("virtual_stages", plan.virtual_stages, "1");
  }
  int world = 0;
  for (int i = 0; i < plan.num_stages(); ++i) {
    TANGRAM_RETURN_IF_ERROR(CheckStage(in.model, plan, i));
    world += static_cast<int>(plan.stages[i].gpus.size());
  }
  if (!AcesoAcceptsGpus(world)) {
    return Refuse("stages", absl::StrCat(world, " GPUs"),
                  "1, 2 or a multiple of 4 in all");
  }
  return absl::OkStatus();
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
// offloading, which FlexPipe lacks.
void LowerStages(const ModelSpec& model, PipelinePlan& plan) {
  plan.schedule = PipelineSchedule::kOneFOneB;
  for (PlacedStage& stage : plan.stages) {
    StageParallelism& p = stage.plan.parallelism;
    p.sequence_parallel = false;
    p.zero_stage = 0;
    p.fsep = false;
    p.tp_y_degree = 1;
    stage.plan.offload = HostOffload();
    // FlexPipe never recomputes embedding and head, and keeps outputs.
    ChangeMasks(
        [&](int layer, OpMask mask) {
          return model.layers[layer].kind == LayerKind::kTransformer
                     ? mask & ~kDropOutputs
                     : kRecomputeNone;
        },
        stage.plan);
  }
}

// Writes flexpipe.json: lists with one entry a stage, some of them with one
// entry an operator.
std::string ConfigText(const PlannedTraining& in, const PipelinePlan& plan) {
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
  if (!training.dropout) {
    options += " --attention-dropout 0 --hidden-dropout 0";
  }
  // Stages with different tp degrees send parts of a sequence.
  const auto parts = absl::c_max_element(
      plan.stages, [](const PlacedStage& a, const PlacedStage& b) {
        return a.plan.parallelism.tp_degree < b.plan.parallelism.tp_degree;
      });
  if (training.sequence_length % parts->plan.parallelism.tp_degree != 0) {
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
  --lr 0.00015 --min-lr 1.0e-5 --clip-grad 1.0 \
  --DDP-impl local --distributed-backend nccl)",
                      options, " \"$@\"\n");
}

}  // namespace

absl::Status CheckForAceso(const ModelSpec& model,
                           const TrainingOptions& training) {
  if (training.precision == Precision::kFp8) {
    return Refuse("training.precision", "fp8", "fp32, fp16 or bf16");
  }
  return CheckModel(model);
}

// FlexPipe makes groups of 2 and of 4 ranks even if they are not used.
bool AcesoAcceptsGpus(int num_gpus) {
  return num_gpus <= 2 || num_gpus % 4 == 0;
}

TrainingOptions TrainingUnderAceso(TrainingOptions training) {
  training.flash_attention = false;
  if (training.precision == Precision::kBf16) training.fp32_gradients = true;
  training.overlap_grad_reduce = false;
  training.bf16_moments = false;
  training.fused_loss = false;
  return training;
}

absl::StatusOr<FrameworkExport> ExportToAceso(const PlannedTraining& in) {
  PipelinePlan plan = CanonicalPlan(in.model, in.plan);
  LowerStages(in.model, plan);
  TANGRAM_RETURN_IF_ERROR(CheckGuards(in, plan));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<RankedHost> hosts,
                           HostsInRankOrder(in.cluster, plan));
  FrameworkExport result{
      .training = LowerTraining(in),
      .guards = {("tp and dp of neighbouring stages divide one another, the "
                  "last and the first included"),
                 "every replica's microbatch is whole",
                 "the number of GPUs is 1, 2 or a multiple of 4",
                 "no stage lies under a residual that skips it",
                 "the model is one that FlexPipe builds",
                 "hosts are in the order of the stages"}};
  result.files = {
      {"flexpipe.json", ConfigText(in, plan)},
      {"hostfile", HostFileText(hosts)},
      {"launch.sh",
       LaunchScript("Aceso", "ACESO", Command(in, result.training, plan)),
       /*executable=*/true}};
  result.launch = LaunchHint(hosts, "ACESO");
  result.plan = std::move(plan);
  return result;
}

}  // namespace tangram
