#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "common/domain/recompute_masks.h"
#include "frameworks/json_lines.h"
#include "frameworks/lower_plan.h"
#include "frameworks/megatron_options.h"
#include "frameworks/model_details.h"
#include "frameworks/rank_order.h"
#include "frameworks/refusal.h"
#include "frameworks/targets.h"
#include "frameworks/whole_parts.h"

// Exports to Hetu-Galvatron (main of 2026-06, galvatron/core/runtime). Each
// layer has its own tp, cp, ep, ZeRO-3 and recomputation; dp uses the remaining
// GPUs of a stage. All stages have the same number of GPUs. Its attention
// asserts sequence parallelism and flash attention (transformer/attention.py);
// with tp 1, sequence parallelism has no effect.
namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

// Galvatron's lists are strings such as "4,4,2".
std::string ListText(const std::vector<int>& values) {
  return absl::StrJoin(values, ",");
}

// Galvatron shards nothing (ddp), gradients and optimizer state (zero2), or
// also a layer's weights (zero3). A layer has either the default or zero3.
void LowerSharding(PipelinePlan& plan) {
  const bool any = std::any_of(
      plan.stages.begin(), plan.stages.end(), [](const PlacedStage& stage) {
        const int zero = stage.plan.parallelism.zero_stage;
        return zero == 1 || zero == 2;
      });
  for (PlacedStage& stage : plan.stages) {
    int& zero = stage.plan.parallelism.zero_stage;
    if (zero < 3) zero = any ? 2 : 0;
  }
}

// Makes equal what Galvatron sets once, drops what it lacks, and recomputes
// whole layers.
void LowerGalvatronStages(const ModelSpec& model, PipelinePlan& plan) {
  LowerSharding(plan);
  for (PlacedStage& stage : plan.stages) {
    StageParallelism& p = stage.plan.parallelism;
    p.zero_degree = 0;
    p.sequence_parallel = true;
    p.tp_y_degree = 1;
    p.fsep = false;
    stage.plan.offload = HostOffload();
    ChangeMasks(
        [&](int layer, OpMask mask) {
          const LayerSpec& spec = model.layers[layer];
          const bool whole =
              mask != kRecomputeNone && spec.kind == LayerKind::kTransformer;
          return whole ? WholeLayerMask(spec) : kRecomputeNone;
        },
        stage.plan);
  }
}

// Returns the tp of embedding and head, which have one degree although they are
// in the first and the last stage.
int VocabularyTp(const PipelinePlan& plan) {
  return std::max(plan.stages.front().plan.parallelism.tp_degree,
                  plan.stages.back().plan.parallelism.tp_degree);
}

// Returns the losses that the common tp of embedding and head causes.
std::vector<std::string> VocabularyLosses(const PipelinePlan& plan) {
  const int tp = VocabularyTp(plan);
  std::vector<std::string> losses;
  for (const int i : {0, plan.num_stages() - 1}) {
    const int planned = plan.stages[i].plan.parallelism.tp_degree;
    if (planned == tp) continue;
    losses.push_back(absl::StrCat(
        StageField(i, i == 0 ? ", embedding" : ", head"), ": tp ", planned,
        "; becomes ", tp, ", one for embedding and head"));
  }
  return losses;
}

void CheckDevices(const Cluster& cluster, const PipelinePlan& plan,
                  Obstacles& obstacles) {
  for (int i = 0; i < plan.num_stages(); ++i) {
    const GpuId& gpu = plan.stages[i].gpus.front();
    for (const GpuId& other : plan.stages[i].gpus) {
      if (other.node == gpu.node && other != gpu) continue;
      const DeviceSpec& device = cluster.nodes[other.node].device;
      const std::string why = WhyNotOnDeviceForGalvatron(device);
      if (why.empty()) continue;
      obstacles.Refuse(StageField(i, ".gpus"), device.type,
                       absl::StrCat("other GPUs: ", why));
      break;
    }
  }
}

// Refuses stages of different sizes, different cp at the ends, and a batch that
// the replicas of the least divided layer do not divide.
void CheckGalvatronGuards(const PlannedTraining& in, const PipelinePlan& plan,
                          Obstacles& obstacles) {
  const PlacedStage& first = plan.stages.front();
  const StageParallelism& last = plan.stages.back().plan.parallelism;
  if (plan.virtual_stages > 1) {
    obstacles.Refuse("virtual_stages", plan.virtual_stages, "1");
  }
  obstacles.Add(CheckForGalvatron(in.model, in.training));
  obstacles.Add(RequireWholeSequenceParts(in.training.sequence_length, plan));
  CheckDevices(in.cluster, plan, obstacles);
  int min_tp = first.plan.parallelism.tp_degree;
  int min_cp = first.plan.parallelism.cp_degree;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const PlacedStage& stage = plan.stages[i];
    const StageParallelism& p = stage.plan.parallelism;
    min_tp = std::min(min_tp, p.tp_degree);
    min_cp = std::min(min_cp, p.cp_degree);
    if (stage.gpus.size() == first.gpus.size()) continue;
    obstacles.Refuse(StageField(i, ".gpus"),
                     absl::StrCat(stage.gpus.size(), " GPUs"),
                     absl::StrCat(first.gpus.size(),
                                  " as in the first stage: Galvatron divides "
                                  "the GPUs evenly"));
  }
  // Embedding and head, in the first and the last stage, share these settings.
  const StageParallelism& p = first.plan.parallelism;
  if (p.cp_degree != last.cp_degree) {
    obstacles.Refuse(
        StageField(plan.num_stages() - 1, ".plan.parallelism.cp_degree"),
        last.cp_degree,
        absl::StrCat(p.cp_degree,
                     " as in the first stage: embedding and head have one "
                     "degree, vcp"));
  }
  const int most_replicas =
      static_cast<int>(first.gpus.size()) / min_tp / min_cp;
  if (in.training.global_batch_size % most_replicas == 0) return;
  obstacles.Refuse("training.global_batch_size", in.training.global_batch_size,
                   absl::StrCat("a multiple of the ", most_replicas,
                                " replicas of the least divided layer"));
}

// Writes the strategy: lists with one entry for each transformer layer.
std::string GalvatronConfigText(const PlannedTraining& in,
                                const PipelinePlan& plan) {
  std::vector<int> tp, cp, ep, zero3, recompute, division;
  bool any_zero2 = false;
  for (const PlacedStage& stage : plan.stages) {
    const StageParallelism& p = stage.plan.parallelism;
    const LayerSpan span = TransformerLayers(in.model, stage.plan);
    any_zero2 |= p.zero_stage == 2;
    division.push_back(span.size());
    tp.insert(tp.end(), span.size(), p.tp_degree);
    cp.insert(cp.end(), span.size(), p.cp_degree);
    ep.insert(ep.end(), span.size(), p.ep_degree);
    zero3.insert(zero3.end(), span.size(), p.zero_stage == 3 ? 1 : 0);
  }
  const std::vector<OpMask> masks = LayerMasks(in.model, plan);
  for (int l = 1; l + 1 < in.model.num_layers(); ++l) {
    recompute.push_back(masks[l] != kRecomputeNone ? 1 : 0);
  }
  const StageParallelism& first = plan.stages.front().plan.parallelism;
  const StageParallelism& last = plan.stages.back().plan.parallelism;
  const int vocab_zero3 = first.zero_stage == 3 && last.zero_stage == 3;
  const int num_layers = static_cast<int>(tp.size());
  return JsonLines(Json{
      {"pp_deg", plan.num_stages()},
      {"tp_sizes_enc", ListText(tp)},
      {"tp_consecutive_flags", ListText(std::vector<int>(num_layers, 1))},
      {"cp_sizes_enc", ListText(cp)},
      {"dp_types_enc", ListText(zero3)},
      {"use_sp", ListText(std::vector<int>(num_layers, 0))},
      {"checkpoint", ListText(recompute)},
      {"global_bsz", in.training.global_batch_size},
      {"chunks", in.training.global_batch_size / plan.pipeline_microbatch_size},
      {"pp_division", ListText(division)},
      {"pipeline_type",
       plan.schedule == PipelineSchedule::kGpipe ? "gpipe" : "pipedream_flush"},
      {"default_dp_type", any_zero2 ? "zero2" : "ddp"},
      {"vtp", VocabularyTp(plan)},
      {"vsp", 0},
      {"vcp", first.cp_degree},
      {"ep_sizes_enc", ListText(ep)},
      {"tp_of_ep_sizes_enc", ListText(tp)},
      // Galvatron's search writes the first key and its runtime reads the
      // second.
      {"embed_sdp", vocab_zero3},
      {"vocab_sdp", vocab_zero3}});
}

const char* Truth(bool value) { return value ? "true" : "false"; }

// Writes every value that may differ from its defaults, which are Llama's.
absl::StatusOr<std::string> ModelYaml(const PlannedTraining& in,
                                      const TrainingOptions& training) {
  const ModelSpec& model = in.model;
  TANGRAM_ASSIGN_OR_RETURN(std::vector<MegatronOption> options,
                           MegatronModelOptions(model));
  absl::c_move(MegatronGpuOptions(in), std::back_inserter(options));
  const LayerSpec& layer = model.layers[1];
  // Flags are written below. It makes as many positions as there are tokens.
  const auto is_other = [](const MegatronOption& option) {
    return option.name == "swiglu" || option.name == "disable_bias_linear" ||
           option.name == "group_query_attention" ||
           option.name == "untie_embeddings_and_output_weights" ||
           option.name == "use_rope_scaling" ||
           option.name == "rope_scaling_factor" ||
           option.name == "max_position_embeddings";
  };
  std::string yaml =
      absl::StrCat("    model_size: ", Json(model.name).dump(),
                   "\n    is_moe_model: ", Truth(layer.is_moe()), "\n");
  for (const MegatronOption& option : options) {
    if (is_other(option)) continue;
    absl::StrAppend(
        &yaml, "    ",
        option.name == "num_experts" ? "num_moe_experts" : option.name, ": ",
        option.value.empty() ? "true" : option.value, "\n");
  }
  // Norms of queries and keys have an epsilon of their own.
  if (model.details.norm_epsilon > 0) {
    absl::StrAppend(&yaml, "    layernorm_epsilon: ",
                    DetailText(model.details.norm_epsilon), "\n");
  }
  const DropoutRates dropout = DropoutOf(model, training);
  absl::StrAppend(&yaml, "    gated_linear_unit: ", Truth(layer.gated_mlp),
                  "\n    activation_func: torch.nn.functional.",
                  layer.gated_mlp ? "silu" : "gelu",
                  "\n    add_bias_linear: ", Truth(layer.linear_bias),
                  "\n    untie_embeddings_and_output_weights: ",
                  Truth(!model.layers.back().tied_embeddings),
                  "\n    attention_dropout: ", DetailText(dropout.attention),
                  "\n    hidden_dropout: ", DetailText(dropout.hidden), "\n");
  return yaml;
}

absl::StatusOr<std::string> RuntimeYaml(const PlannedTraining& in,
                                        const TrainingOptions& training,
                                        const PipelinePlan& plan) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string model, ModelYaml(in, training));
  return absl::StrCat(
      "runtime:\n  parallel:\n"
      "    galvatron_config_path: ${oc.env:GALVATRON_CONFIG}\n"
      "    mixed_precision: ",
      PrecisionName(training.precision),
      "\n    reduce_in_fp32: ", Truth(training.fp32_gradients), "\n  model:\n",
      model, "  train:\n    sequence_parallel: true",
      "\n    use_flash_attn: ", Truth(training.flash_attention),
      "\n    global_batch_size: ", training.global_batch_size, "\n    chunks: ",
      training.global_batch_size / plan.pipeline_microbatch_size,
      "\n    seq_length: ", training.sequence_length, "\n");
}

// Galvatron has model folders gpt and moe; $0 is one of them.
constexpr char kGalvatronCommand[] =
    R"(export GALVATRON_CONFIG="$$here/galvatron.json"
cd "$$GALVATRON/galvatron/models/$0"
exec "$${torchrun[@]}" train_dist.py "$$here/runtime.yaml" "$$@"
)";

}  // namespace

// Refuses what Galvatron's schema lacks, because it drops such keys silently.
absl::Status CheckForGalvatron(const ModelSpec& model,
                               const TrainingOptions& training) {
  Obstacles obstacles;
  if (training.precision == Precision::kFp8 ||
      training.precision == Precision::kFp32) {
    obstacles.Refuse("training.precision", PrecisionName(training.precision),
                     "fp16 or bf16, in which Galvatron's flash attention runs");
  }
  if (training.optimizer != Optimizer::kAdam) {
    obstacles.Refuse("training.optimizer", "sgd", "adam, which Galvatron has");
  }
  const LayerSpec& first = model.layers[1];
  for (int l = 1; l + 1 < model.num_layers(); ++l) {
    const LayerSpec& layer = model.layers[l];
    const char* other = layer.kv_lora_rank > 0     ? "latent attention"
                        : layer.sliding_window > 0 ? "a sliding window"
                        : layer.is_moe() != first.is_moe()
                            ? "dense layers among layers of experts"
                            : nullptr;
    if (other == nullptr) continue;
    obstacles.Refuse(absl::StrCat("model.layers[", l, "]"), other,
                     "full attention, and experts in all layers or in none");
    break;
  }
  obstacles.Add(MegatronModelOptions(model).status());
  return obstacles.AsStatus();
}

std::string WhyNotOnDeviceForGalvatron(const DeviceSpec& device) {
  if (device.supports_flash_attention) return "";
  return absl::StrCat("flash attention does not run on ", device.type,
                      ", and Galvatron has no other attention");
}

TrainingOptions TrainingUnderGalvatron(TrainingOptions training) {
  training.flash_attention = true;
  training.overlap_grad_reduce = false;
  training.bf16_moments = false;
  return training;
}

absl::StatusOr<FrameworkExport> ExportToGalvatron(const PlannedTraining& in) {
  PipelinePlan plan = CanonicalPlan(in.model, in.plan);
  if (plan.schedule != PipelineSchedule::kGpipe) {
    plan.schedule = PipelineSchedule::kOneFOneB;
  }
  Obstacles obstacles;
  const absl::Status rounded = RoundToLayers(in.model, plan);
  obstacles.Add(rounded);
  if (rounded.ok()) {
    obstacles.Add(RequireTransformerLayers(in.model, plan));
    LowerGalvatronStages(in.model, plan);
  }
  CheckGalvatronGuards(in, plan, obstacles);
  const auto ranked = HostsInRankOrder(in.cluster, plan);
  obstacles.Add(ranked.status());
  TANGRAM_RETURN_IF_ERROR(obstacles.AsStatus());
  const std::vector<RankedHost>& hosts = *ranked;
  FrameworkExport result{
      .training = TrainingUnderGalvatron(in.training),
      .framework_losses = LostDetails(in.model, in.training,
                                      {.rope = true,
                                       .linear_scaling = true,
                                       .norm_epsilon = true,
                                       .dropout_rates = true}),
      .guards = {"every stage has as many GPUs",
                 ("the global batch is a multiple of the replicas of the least "
                  "divided layer"),
                 "embedding and head have one cp",
                 "flash attention runs on all GPUs",
                 "both names of the embedding's sharding are written",
                 "the model is one that its options describe",
                 "hosts are in the order of the stages"}};
  TANGRAM_ASSIGN_OR_RETURN(std::string yaml,
                           RuntimeYaml(in, result.training, plan));
  result.files = {
      {"galvatron.json", GalvatronConfigText(in, plan)},
      {"runtime.yaml", std::move(yaml)},
      {"hostfile", HostFileText(hosts)},
      {"launch.sh",
       LaunchScript(
           "Hetu-Galvatron", "GALVATRON",
           absl::Substitute(kGalvatronCommand,
                            in.model.layers[1].is_moe() ? "moe" : "gpt")),
       /*executable=*/true}};
  result.launch = LaunchHint(hosts, "GALVATRON");
  result.losses = VocabularyLosses(plan);
  result.plan = std::move(plan);
  return result;
}

}  // namespace tangram
