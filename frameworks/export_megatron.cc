#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "common/domain/recompute_masks.h"
#include "frameworks/equal_stages.h"
#include "frameworks/lower_plan.h"
#include "frameworks/megatron_hybrid.h"
#include "frameworks/megatron_options.h"
#include "frameworks/rank_order.h"
#include "frameworks/targets.h"
#include "frameworks/whole_parts.h"

// Exports to Megatron-LM (pretrain_gpt.py of 2026-08, or pretrain_hybrid.py for
// models with Mamba layers). Stages hold any number
// of layers (--pipeline-model-parallel-layout). Degrees and the amount of
// recomputation are the same for all stages. The schedule is 1F1B or
// interleaved.
namespace tangram {
namespace {

// Writes "Et*12|t*20L": E embedding, t transformer layer, L loss, | between
// stages.
std::string LayoutText(const ModelSpec& model, const PipelinePlan& plan) {
  std::string layout;
  for (const PlacedStage& stage : plan.stages) {
    if (!layout.empty()) layout += "|";
    if (HoldsEmbedding(stage.plan)) layout += "E";
    const int num_layers = TransformerLayers(model, stage.plan).size();
    if (num_layers == 1) layout += "t";
    if (num_layers > 1) absl::StrAppend(&layout, "t*", num_layers);
    if (HoldsHead(model, stage.plan)) layout += "L";
  }
  return layout;
}

// Recomputes as many layers in every stage as in the stage that recomputes
// most, because --recompute-method block takes one number for all.
int EqualRecompute(const ModelSpec& model, PipelinePlan& plan) {
  int most = 0;
  for (const PlacedStage& stage : plan.stages) {
    most = std::max(most, RecomputedLayers(model, stage.plan));
  }
  for (PlacedStage& stage : plan.stages) {
    const LayerSpan span = TransformerLayers(model, stage.plan);
    ChangeMasks(
        [&](int layer, OpMask) {
          const bool recomputed =
              layer >= span.first &&
              layer < std::min(span.last, span.first + most);
          return recomputed ? WholeLayerMask(model.layers[layer])
                            : kRecomputeNone;
        },
        stage.plan);
  }
  return most;
}

std::vector<MegatronOption> MegatronRecomputeOptions(const ModelSpec& model,
                                                     PipelinePlan& plan) {
  switch (RoundRecompute(model, plan)) {
    case RecomputeGranularity::kNone:
      return {};
    case RecomputeGranularity::kAttentionCore:
      return {{"recompute_granularity", "selective"},
              {"recompute_modules", "core_attn"}};
    case RecomputeGranularity::kWholeLayers:
      break;
  }
  int num_layers = EqualRecompute(model, plan);
  if (model.is_hybrid()) num_layers *= HybridLayersEach(model);
  return {{"recompute_granularity", "full"},
          {"recompute_method", "block"},
          {"recompute_num_layers", absl::StrCat(num_layers)}};
}

constexpr char kHybridSpec[] =
    "megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec";

std::vector<MegatronOption> ParallelOptions(const ModelSpec& model,
                                            const PipelinePlan& plan) {
  const StageParallelism& p = plan.stages.front().plan.parallelism;
  std::vector<MegatronOption> options = {
      {"tensor_model_parallel_size", absl::StrCat(p.tp_degree)},
      {"pipeline_model_parallel_size", absl::StrCat(plan.num_devices())}};
  if (model.is_hybrid()) {
    options.push_back({"hybrid_layer_pattern", HybridPattern(model, plan)});
    options.push_back({"spec", kHybridSpec});
  } else if (plan.num_stages() > 1) {
    options.push_back(
        {"pipeline_model_parallel_layout", LayoutText(model, plan)});
  }
  if (p.cp_degree > 1) {
    options.push_back({"context_parallel_size", absl::StrCat(p.cp_degree)});
  }
  if (p.ep_degree > 1) {
    options.push_back(
        {"expert_model_parallel_size", absl::StrCat(p.ep_degree)});
    options.push_back(
        {"expert_tensor_parallel_size", absl::StrCat(p.tp_degree)});
  }
  if (p.sequence_parallel) options.push_back({"sequence_parallel", ""});
  if (p.zero_stage > 0) options.push_back({"use_distributed_optimizer", ""});
  if (p.zero_degree > 0) {
    options.push_back({"num_distributed_optimizer_instances",
                       absl::StrCat(p.num_shard_groups())});
  }
  return options;
}

std::vector<MegatronOption> BatchOptions(const PlannedTraining& in,
                                         const PipelinePlan& plan) {
  const int dp = plan.stages.front().plan.parallelism.dp_degree;
  std::vector<MegatronOption> options = {
      {"seq_length", absl::StrCat(in.training.sequence_length)},
      {"global_batch_size", absl::StrCat(in.training.global_batch_size)},
      {"micro_batch_size", absl::StrCat(plan.pipeline_microbatch_size / dp)}};
  if (in.model.layers.front().max_position_embeddings == 0) {
    options.push_back(
        {"max_position_embeddings", absl::StrCat(in.training.sequence_length)});
  }
  return options;
}

void AppendArguments(const std::vector<MegatronOption>& options,
                     std::string& text) {
  for (const MegatronOption& option : options) {
    absl::StrAppend(&text, "--", absl::StrReplaceAll(option.name, {{"_", "-"}}),
                    option.value.empty() ? "" : " ", option.value, "\n");
  }
}

// `program`: pretrain_gpt.py or pretrain_hybrid.py.
std::string MegatronCommand(absl::string_view program) {
  return absl::StrCat(
      R"(read -r -d '' -a options < "$here/megatron.args" || true
cd "$MEGATRON_LM"
exec "${torchrun[@]}" )",
      program, R"( "${options[@]}" "$@"
)");
}

}  // namespace

absl::Status CheckForMegatron(const ModelSpec& model, const TrainingOptions&) {
  return MegatronModelOptions(model).status();
}

absl::StatusOr<FrameworkExport> ExportToMegatron(const PlannedTraining& in) {
  PipelinePlan plan = CanonicalPlan(in.model, in.plan);
  if (plan.schedule != PipelineSchedule::kInterleaved) {
    plan.schedule = PipelineSchedule::kOneFOneB;
  }
  Obstacles obstacles;
  const auto model_options = MegatronModelOptions(in.model);
  obstacles.Add(model_options.status());
  const auto ranked = HostsInRankOrder(in.cluster, plan);
  obstacles.Add(ranked.status());
  obstacles.Add(RoundToLayers(in.model, plan));
  obstacles.Add(CheckHybridStages(in.model, plan));
  const absl::Status equal = EqualizeStages(in.model, plan);
  obstacles.Add(equal);
  if (equal.ok()) {
    obstacles.Add(RequireWholeSequenceParts(in.training.sequence_length, plan));
  }
  TANGRAM_RETURN_IF_ERROR(obstacles.AsStatus());
  const std::vector<RankedHost>& hosts = *ranked;
  const std::vector<MegatronOption>& model = *model_options;
  const std::vector<MegatronOption> recompute =
      MegatronRecomputeOptions(in.model, plan);
  std::string arguments;
  AppendArguments(model, arguments);
  AppendArguments(MegatronGpuOptions(in), arguments);
  AppendArguments(ParallelOptions(in.model, plan), arguments);
  AppendArguments(recompute, arguments);
  AppendArguments(BatchOptions(in, plan), arguments);
  AppendArguments(MegatronTrainingOptions(in.model, in.training), arguments);

  FrameworkExport result{
      .files = {{"megatron.args", std::move(arguments)},
                {"hostfile", HostFileText(hosts)},
                {"launch.sh",
                 LaunchScript(
                     "Megatron-LM", "MEGATRON_LM",
                     MegatronCommand(in.model.is_hybrid() ? "pretrain_hybrid.py"
                                                          : "pretrain_gpt.py")),
                 /*executable=*/true}},
      .launch = LaunchHint(hosts, "MEGATRON_LM") +
                " --data-path ... --tokenizer-type ... --lr ... "
                "--train-iters ...",
      .training = in.training,
      .framework_losses = LostUnderMegatron(in),
      .guards = {"all stages have the same degrees",
                 "the layers of the layout are the model's",
                 "a sequence can be cut into the parts of tp and cp",
                 ("a layout is given without --account-for-embedding-in-"
                  "pipeline-split"),
                 "hosts are in the order of the stages"}};
  result.plan = std::move(plan);
  return result;
}

}  // namespace tangram
