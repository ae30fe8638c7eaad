#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "frameworks/check_model_options.h"
#include "frameworks/import_parts.h"
#include "frameworks/launch_arguments.h"
#include "frameworks/pipeline_layout.h"
#include "frameworks/read_training_options.h"
#include "frameworks/recompute_options.h"
#include "frameworks/targets.h"

// Imports the arguments of Megatron-LM's pretrain_gpt.py (2026-08).
namespace tangram {
namespace {

// Reads Megatron-FSDP, whose strategies are the ZeRO stages. Its default is the
// strategy of stage 3.
absl::StatusOr<int> ReadMegatronFsdp(LaunchArguments& arguments) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string format,
                           arguments.Text("ckpt-format", "torch_dist"));
  if (format != "fsdp_dtensor") {
    return arguments.Error("ckpt-format", "fsdp_dtensor with Megatron-FSDP");
  }
  arguments.Has("use-distributed-optimizer");  // Implied.
  constexpr absl::string_view kStrategies[] = {
      "no_shard", "optim", "optim_grads", "optim_grads_params"};
  TANGRAM_ASSIGN_OR_RETURN(const std::string strategy,
                           arguments.OneOf("data-parallel-sharding-strategy",
                                           "optim_grads_params", kStrategies));
  return static_cast<int>(
      std::find(std::begin(kStrategies), std::end(kStrategies), strategy) -
      std::begin(kStrategies));
}

// Reads PyTorch's FSDP2, which keeps weights after the forward pass on demand.
absl::StatusOr<int> ReadTorchFsdp(LaunchArguments& arguments) {
  for (const char* name :
       {"pipeline-model-parallel-size", "expert-model-parallel-size"}) {
    TANGRAM_ASSIGN_OR_RETURN(const int degree, arguments.Int(name, 1));
    if (degree > 1) return arguments.Error(name, "1 with PyTorch's FSDP2");
  }
  for (const char* name : {"use-distributed-optimizer", "fp16"}) {
    if (arguments.Has(name)) {
      return arguments.Error(name, "no such flag with PyTorch's FSDP2");
    }
  }
  return arguments.Has("torch-fsdp2-no-reshard-after-forward") ? 2 : 3;
}

absl::StatusOr<int> ReadZeroStage(LaunchArguments& arguments) {
  const bool torch = arguments.Has("use-torch-fsdp2");
  if (arguments.Has("use-megatron-fsdp")) {
    if (!torch) return ReadMegatronFsdp(arguments);
    return arguments.Error("use-torch-fsdp2", "one kind of FSDP");
  }
  if (torch) return ReadTorchFsdp(arguments);
  return arguments.Has("use-distributed-optimizer") ? 1 : 0;
}

// Reads the number of groups of which each shards state over its ranks.
absl::StatusOr<int> ReadZeroDegree(LaunchArguments& arguments,
                                   const StageParallelism& p) {
  constexpr char kGroups[] = "num-distributed-optimizer-instances";
  TANGRAM_ASSIGN_OR_RETURN(const int groups, arguments.Int(kGroups, 1));
  if (groups == 1) return 0;
  if (p.zero_stage == 0 || arguments.Has("use-torch-fsdp2")) {
    return arguments.Error(
        kGroups, "1 without a distributed optimizer or Megatron-FSDP");
  }
  if (groups < p.dp_degree && p.dp_degree % groups == 0) {
    return p.dp_degree / groups;
  }
  return arguments.Error(kGroups,
                         absl::StrCat("a divisor of the data-parallel degree, ",
                                      p.dp_degree, ", below it"));
}

// Experts of plans are split like everything else.
absl::Status CheckExpertTp(LaunchArguments& arguments, const ModelSpec& model,
                           int tp) {
  if (!model.has_experts()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(const int expert_tp,
                           arguments.Int("expert-tensor-parallel-size", tp));
  if (expert_tp == tp) return absl::OkStatus();
  return arguments.Error(
      "expert-tensor-parallel-size",
      absl::StrCat(tp, ", the tensor-parallel degree, as in plans"));
}

absl::StatusOr<StageParallelism> ReadParallelism(LaunchArguments& arguments,
                                                 const ModelSpec& model,
                                                 int world, int num_devices) {
  StageParallelism p;
  TANGRAM_ASSIGN_OR_RETURN(p.tp_degree,
                           arguments.Int("tensor-model-parallel-size", 1));
  TANGRAM_ASSIGN_OR_RETURN(p.cp_degree,
                           arguments.Int("context-parallel-size", 1));
  TANGRAM_ASSIGN_OR_RETURN(p.ep_degree,
                           arguments.Int("expert-model-parallel-size", 1));
  TANGRAM_RETURN_IF_ERROR(CheckExpertTp(arguments, model, p.tp_degree));
  TANGRAM_ASSIGN_OR_RETURN(int replica,
                           Multiply("tp x cp", p.tp_degree, p.cp_degree));
  TANGRAM_ASSIGN_OR_RETURN(replica,
                           Multiply("tp x cp x pp", replica, num_devices));
  if (world % replica != 0) {
    return FieldError("host file", absl::StrCat(world, " GPUs"),
                      absl::StrCat("a multiple of tp x cp x pp, ", replica));
  }
  p.dp_degree = world / replica;
  p.sequence_parallel = arguments.Has("sequence-parallel");
  TANGRAM_ASSIGN_OR_RETURN(p.zero_stage, ReadZeroStage(arguments));
  TANGRAM_ASSIGN_OR_RETURN(p.zero_degree, ReadZeroDegree(arguments, p));
  return p;
}

absl::Status CheckContextParallel(LaunchArguments& arguments, int cp,
                                  int sequence_length) {
  if (cp == 1 || sequence_length % (2 * cp) == 0) return absl::OkStatus();
  return arguments.Error("seq-length",
                         absl::StrCat("a multiple of twice the context-"
                                      "parallel degree, ",
                                      2 * cp));
}

}  // namespace

absl::StatusOr<ImportedPlan> ImportFromMegatron(const ImportRequest& request) {
  TANGRAM_ASSIGN_OR_RETURN(const FrameworkFile* file, FindConfig(request, ""));
  TANGRAM_ASSIGN_OR_RETURN(
      LaunchArguments arguments,
      LaunchArguments::FromCommandLine(file->content, file->name));
  ImportedPlan imported;
  std::vector<std::string>& notes = imported.notes;
  TANGRAM_RETURN_IF_ERROR(CheckModelOptions(arguments, request.model, notes));
  TANGRAM_ASSIGN_OR_RETURN(
      imported.training,
      ReadTrainingOptions(arguments, request.training, notes));
  TANGRAM_ASSIGN_OR_RETURN(const int num_devices,
                           arguments.Int("pipeline-model-parallel-size", 1));
  TANGRAM_ASSIGN_OR_RETURN(const GpuList world, FindGpus(request));
  TANGRAM_ASSIGN_OR_RETURN(
      const StageParallelism parallelism,
      ReadParallelism(arguments, request.model,
                      static_cast<int>(world.gpus.size()), num_devices));
  TANGRAM_RETURN_IF_ERROR(CheckContextParallel(
      arguments, parallelism.cp_degree, imported.training.sequence_length));
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<LayoutStage> layout,
      ReadPipelineLayout(arguments, request.model.num_layers() - 2,
                         num_devices));
  TANGRAM_ASSIGN_OR_RETURN(const RecomputeOptions recompute,
                           ReadRecomputeOptions(arguments, notes));
  ReadExpertKernels(arguments, request.model, notes);
  OperatorCut begin;
  for (const LayoutStage& stage : layout) {
    const OperatorCut end = {
        begin.layer + stage.num_layers + stage.embedding + stage.head, 0};
    StagePlan& plan =
        imported.plan.stages
            .emplace_back(PlacedStage{.plan = {.begin = begin,
                                               .end = end,
                                               .parallelism = parallelism}})
            .plan;
    ApplyRecompute(recompute, request.model, plan);
    begin = end;
  }
  imported.plan.virtual_stages = static_cast<int>(layout.size()) / num_devices;
  if (imported.plan.virtual_stages > 1) {
    imported.plan.schedule = PipelineSchedule::kInterleaved;
  }
  TANGRAM_RETURN_IF_ERROR(PlaceStages(world, imported));

  TANGRAM_ASSIGN_OR_RETURN(const int microbatch_size,
                           arguments.Int("micro-batch-size", std::nullopt));
  TANGRAM_ASSIGN_OR_RETURN(imported.plan.pipeline_microbatch_size,
                           Multiply("micro-batch-size x dp", microbatch_size,
                                    parallelism.dp_degree));
  TANGRAM_ASSIGN_OR_RETURN(
      imported.training.global_batch_size,
      ReadGlobalBatch(arguments, imported.plan.pipeline_microbatch_size,
                      notes));
  absl::c_move(arguments.Notes(), std::back_inserter(notes));
  return imported;
}

}  // namespace tangram
