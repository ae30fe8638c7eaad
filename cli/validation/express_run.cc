#include "cli/validation/express_run.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "cli/validation/recipes.h"
#include "cli/validation/run_parts.h"
#include "cli/validation/run_stages.h"
#include "cli/validation/runtime_habits.h"
#include "cli/validation/stage_parts.h"
#include "cli/validation/text_match.h"
#include "common/band/framework_family.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "formats/config/device_catalogue.h"
#include "formats/config/group_fields.h"
#include "formats/profile/attach_profile.h"

namespace tangram {
namespace {

absl::StatusOr<Precision> PrecisionOf(const MeasuredRun& run) {
  std::string text = absl::AsciiStrToLower(run.precision);
  if (text.empty()) text = std::string(HabitsOf(run.framework).precision);
  if (text.empty()) {
    const bool before_ampere =
        absl::StrContains(run.gpu, "V100") || absl::StrContains(run.gpu, "T4");
    return before_ampere ? Precision::kFp16 : Precision::kBf16;
  }
  if (absl::StrContains(text, "fp8")) return Precision::kFp8;
  if (absl::StartsWith(text, "bf16")) return Precision::kBf16;
  if (absl::StartsWith(text, "fp16")) return Precision::kFp16;
  if (absl::StartsWith(text, "fp32")) return Precision::kFp32;
  return absl::UnimplementedError(absl::StrCat(
      "precision: ", run.precision, "; fp32, fp16, bf16 and fp8 are modelled"));
}

// Keeps sizes within the limits of clusters and models, so that no computation
// with them overflows.
absl::Status CheckSizes(const MeasuredRun& run) {
  const struct {
    const char* column;
    int value;
    int most;
  } sizes[] = {{"num_gpus", run.num_gpus, kMaxGpus},
               {"gpus_per_node", run.gpus_per_node, kMaxGpusPerNode},
               {"layers", run.num_layers, kMaxTransformerLayers},
               {"hidden", run.hidden_size, kMaxHiddenSize},
               {"heads", run.num_heads, kMaxHeads},
               {"kv_heads", run.num_kv_heads, kMaxHeads},
               {"ffn", run.ffn_hidden_size, kMaxFfnHiddenSize},
               {"vocab", run.vocab_size, kMaxVocabulary},
               {"seq", run.sequence_length, kMaxPositions},
               {"experts", run.num_experts, kMaxExperts},
               {"topk", run.experts_per_token, kMaxExperts},
               {"pp", run.pp_degree, kMaxTransformerLayers},
               {"vp", run.virtual_stages, kMaxTransformerLayers}};
  for (const auto& size : sizes) {
    if (size.value > size.most) {
      return FieldError(size.column, size.value,
                        absl::StrCat("at most ", size.most));
    }
  }
  int64_t gpus = 1;
  for (const int degree :
       {run.tp_degree, run.pp_degree, run.cp_degree, run.dp_degree}) {
    gpus *= std::max(1, degree);
    if (gpus > run.num_gpus) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tp, pp, cp, dp: for more than num_gpus, ", run.num_gpus, ", GPUs"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckExpressible(const MeasuredRun& run) {
  if (run.gpu.empty() || run.num_gpus == 0) {
    return absl::UnimplementedError("num_gpus: not stated");
  }
  if (run.global_batch_size == 0 || run.sequence_length == 0) {
    return absl::UnimplementedError("gbs, seq: not stated");
  }
  if (absl::StrContains(run.flag, "not pre-training")) {
    return absl::UnimplementedError(absl::StrCat("flag: ", run.flag));
  }
  return CheckSizes(run);
}

void AttachProfiles(const MeasuredRun& run, absl::Span<const Profile> profiles,
                    Cluster& cluster) {
  for (const Profile& profile : profiles) {
    AttachProfile(AreUnlikeFrameworks(profile.framework, run.framework)
                      ? WithoutMemory(profile)
                      : profile,
                  cluster);
    if (run.intra_link.empty()) {
      AttachLinks(profile, LinkScope::kInsideNodes, cluster);
    }
    if (run.inter_link.empty()) {
      AttachLinks(profile, LinkScope::kBetweenNodes, cluster);
    }
  }
}

bool StartsWithAny(absl::string_view type,
                   absl::Span<const absl::string_view> families) {
  return std::any_of(families.begin(), families.end(),
                     [type](absl::string_view family) {
                       return absl::StartsWith(type, family);
                     });
}

bool IsBlackwell(absl::string_view type) {
  return StartsWithAny(type, {"B2", "B3", "GB"});
}

// Returns whether the tensor cores of a GPU have faster instructions than those
// of Ampere. Outside the catalogue the datasheet tells: cards with fp8 have
// neither such peaks nor such memory.
bool IsHopperOrLater(const DeviceSpec& device) {
  if (FindDevice(device.type) == nullptr) {
    constexpr double kLeastPeak = 500e12;
    constexpr double kLeastBandwidth = 1.9e12;
    return device.peak_flops.fp8 > 0 && device.peak_flops.bf16 >= kLeastPeak &&
           device.memory_bandwidth_bytes_per_s >= kLeastBandwidth;
  }
  return IsBlackwell(device.type) ||
         StartsWithAny(device.type, {"H1", "H2", "H8", "GH"});
}

void ApplyHabits(const MeasuredRun& run, const RuntimeHabits& habits,
                 Precision precision, Cluster& cluster) {
  // Other collectives inside nodes, mostly those of experts, are not hidden.
  const bool only_tp = run.tp_degree > 1 && run.ep_degree <= 1;
  for (Node& node : cluster.nodes) {
    DeviceEfficiency& efficiency = node.device.efficiency;
    // TF32 runs at half the rate of bf16, and the same GPUs introduced it.
    PeakFlops& peak = node.device.peak_flops;
    if (precision == Precision::kFp32) {
      peak.fp32 = std::max(peak.fp32, peak.bf16 / 2);
    }
    efficiency.host_launch_s *= habits.host_factor;
    efficiency.memory_fraction *= habits.elementwise_factor;
    efficiency.attention_fraction *= habits.attention_factor;
    if (IsHopperOrLater(node.device)) {
      efficiency.attention_fraction *= habits.attention_factor_on_hopper;
    }
    if (IsBlackwell(node.device.type)) {
      efficiency.memory_fraction *= habits.elementwise_factor_on_blackwell;
    }
    if (only_tp) {
      node.intra_node.bandwidth_bytes_per_s *= habits.tp_link_factor;
      node.intra_node.pair_bandwidth_bytes_per_s *= habits.tp_link_factor;
    }
    efficiency.reserved_bytes += habits.buffer_bytes;
  }
  for (std::vector<Link>& links : cluster.links) {
    for (Link& link : links) link.latency_s += habits.message_s;
  }
}

// A row that states a habit comes before its framework.
RuntimeHabits HabitsOfRun(const MeasuredRun& run) {
  RuntimeHabits habits = HabitsOf(run.framework);
  if (Mentions(run.notes, "tp-comm-overlap")) {
    habits.tp_link_factor = kHiddenTpLinkFactor;
  }
  return habits;
}

// Gives each expert as many slots as it gets tokens if all get equally many.
void BalanceExperts(ModelSpec& model) {
  for (LayerSpec& layer : model.layers) {
    if (layer.is_moe() && layer.expert_capacity_factor == 0) {
      layer.expert_capacity_factor = 1;
    }
  }
}

void UntieEmbeddings(ModelSpec& model) {
  for (LayerSpec& layer : model.layers) layer.tied_embeddings = false;
}

double ParametersOnGpu(const ModelSpec& model, const StagePlan& stage) {
  double parameters = 0;
  for (int l = stage.begin.layer; l < stage.end.layer; ++l) {
    parameters += ParameterCount(model.layers[l]) / stage.parallelism.tp_degree;
  }
  return parameters;
}

// Bytes of the buffer into which one GPU of the stage copies gradients to
// reduce them.
double ReductionBytes(const RuntimeHabits& habits, const ModelSpec& model,
                      const TrainingOptions& training, const StagePlan& stage) {
  return std::min(ParametersOnGpu(model, stage), habits.reduced_at_once) *
         ElementBytes(training.precision);
}

// Bytes of the fp32 gradients that one GPU of the stage makes to step.
double StepBytes(const RuntimeHabits& habits, const ModelSpec& model,
                 const TrainingOptions& training, const StagePlan& stage) {
  if (!habits.copies_gradients_to_step ||
      training.precision != Precision::kFp16) {
    return 0;
  }
  const StageParallelism& p = stage.parallelism;
  const double owners = p.zero_stage > 0 ? p.num_shards() : 1;
  return ParametersOnGpu(model, stage) / owners *
         ElementBytes(Precision::kFp32);
}

}  // namespace

absl::StatusOr<TrainingOptions> TrainingOfRun(const MeasuredRun& run) {
  const RuntimeHabits habits = HabitsOf(run.framework);
  TANGRAM_ASSIGN_OR_RETURN(const Precision precision, PrecisionOf(run));
  const bool flash = run.attention.empty()
                         ? habits.flash_attention
                         : absl::StrContains(run.attention, "flash");
  const bool fp32_gradients =
      habits.fp32_gradients ||
      (!habits.bf16_gradients && precision == Precision::kBf16);
  return TrainingOptions{
      .global_batch_size = run.global_batch_size,
      .sequence_length = run.sequence_length,
      .precision = precision,
      .flash_attention = flash,
      .dropout = habits.dropout,
      .fp32_gradients = fp32_gradients,
      .overlap_grad_reduce = habits.overlap_grad_reduce,
      .blocking_transfers = habits.blocking_transfers,
      .buffered_sends = habits.keeps_sent_tensors,
      .gradient_copy = habits.gradient_copy && fp32_gradients,
      .fused_loss = habits.fused_loss};
}

absl::StatusOr<ExpressedRun> ExpressRun(
    const MeasuredRun& run, absl::Span<const Profile> profiles,
    absl::Span<const CatalogueDevice> devices) {
  TANGRAM_RETURN_IF_ERROR(CheckExpressible(run));
  ExpressedRun expressed;
  TANGRAM_ASSIGN_OR_RETURN(expressed.model, ModelOfRun(run));
  const RuntimeHabits habits = HabitsOfRun(run);
  if (habits.even_experts) BalanceExperts(expressed.model);
  if (!habits.ties_embeddings) UntieEmbeddings(expressed.model);
  TANGRAM_ASSIGN_OR_RETURN(expressed.training, TrainingOfRun(run));
  TANGRAM_ASSIGN_OR_RETURN(const RunStages stages,
                           StagesOfRun(run, expressed.model));
  TANGRAM_ASSIGN_OR_RETURN(const std::optional<HostOffload> offload,
                           OffloadOfRun(run));
  PipelinePlan& plan = expressed.plan;
  plan.pipeline_microbatch_size = stages.pipeline_microbatch_size;
  plan.virtual_stages = stages.virtual_stages;
  if (plan.virtual_stages > 1) plan.schedule = PipelineSchedule::kInterleaved;
  // The chunks of one device share its GPUs.
  const size_t num_devices = stages.stages.size() / plan.virtual_stages;
  TANGRAM_ASSIGN_OR_RETURN(
      PlacedRun placed,
      PlaceRun(run, absl::MakeConstSpan(stages.stages).first(num_devices),
               devices));
  expressed.cluster = std::move(placed.cluster);
  AttachProfiles(run, profiles, expressed.cluster);
  ApplyHabits(run, habits, expressed.training.precision, expressed.cluster);
  expressed.overhead_s = habits.iteration_s;
  int used = 0;
  for (size_t s = 0; s < stages.stages.size(); ++s) {
    const std::vector<GpuId>& gpus = placed.gpus[s % num_devices];
    if (s < num_devices) used += static_cast<int>(gpus.size());
    plan.stages.push_back({.plan = stages.stages[s].plan, .gpus = gpus});
    StagePlan& stage = plan.stages.back().plan;
    ShardOverPart(run, stage.parallelism);
    // Without a value for the whole row, each stage may have its own.
    if (stage.offload.none()) stage.offload = offload.value_or(HostOffload());
    const double step_bytes =
        StepBytes(habits, expressed.model, expressed.training, stage);
    const bool flat = habits.flattens_copied_gradients;
    expressed.overhead_bytes.push_back(
        ReductionBytes(habits, expressed.model, expressed.training, stage) +
        (flat ? step_bytes : 0));
    expressed.step_bytes.push_back(flat ? 0 : step_bytes);
    if (stages.stages[s].memory_measured) {
      expressed.memory_stages.push_back(static_cast<int>(s));
    }
  }
  ApplyRecipe(run, expressed.model, expressed.training, plan);
  if (used != run.num_gpus) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_gpus: ", run.num_gpus, "; the plan uses ", used));
  }
  TANGRAM_RETURN_IF_ERROR(ValidatePlan(expressed.model, expressed.cluster,
                                       expressed.training, expressed.plan));
  return expressed;
}

}  // namespace tangram
