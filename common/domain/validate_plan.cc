#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "common/base/field_error.h"
#include "common/base/in_field.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "common/domain/mixed_stage_rules.h"
#include "common/domain/model_slice.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/plan_validator.h"
#include "common/domain/same_gpus.h"
#include "common/domain/stage_rules.h"

namespace tangram {
namespace {

// "field: found; expected wanted".
absl::Status Bad(const std::string& field, const std::string& found,
                 const std::string& wanted) {
  return FieldError(field, found, wanted);
}

// Checks sizes: the pipeline microbatch size divides the global batch size.
absl::Status CheckBatch(const TrainingOptions& training, int microbatch_size) {
  if (training.global_batch_size <= 0) {
    return Bad("training.global_batch_size",
               absl::StrCat(training.global_batch_size), "a positive integer");
  }
  if (training.sequence_length <= 0) {
    return Bad("training.sequence_length",
               absl::StrCat(training.sequence_length), "a positive integer");
  }
  if (microbatch_size <= 0) {
    return Bad("pipeline_microbatch_size", absl::StrCat(microbatch_size),
               "a positive integer");
  }
  if (training.global_batch_size % microbatch_size == 0) {
    return absl::OkStatus();
  }
  return Bad("pipeline_microbatch_size", absl::StrCat(microbatch_size),
             absl::StrCat("a divisor of the global batch size, ",
                          training.global_batch_size));
}

// Returns a node of the stage whose link to host memory is not known: "node
// a-1". Empty if all are known or unused. The GPUs must be those of the
// cluster.
std::string UnknownHost(const Cluster& cluster, const PlacedStage& stage) {
  if (stage.plan.offload.none()) return "";
  for (const GpuId& gpu : stage.gpus) {
    const Node& node = cluster.nodes[gpu.node];
    if (node.device.host.bandwidth_bytes_per_s > 0) continue;
    return absl::StrCat("node ", node.name);
  }
  return "";
}

// Returns why context parallelism does not run on the stage; empty if it does,
// or is not used. The GPUs must be those of the cluster.
std::string WhyNoContextParallel(const Cluster& cluster,
                                 const TrainingOptions& training,
                                 const PlacedStage& stage) {
  if (!training.flash_attention) return kNoFlashAttention;
  int last_node = -1;
  for (const GpuId& gpu : stage.gpus) {
    if (gpu.node == last_node) continue;
    last_node = gpu.node;
    const Node& node = cluster.nodes[gpu.node];
    if (node.device.supports_flash_attention) continue;
    return absl::StrCat("flash attention does not run on ", node.device.type,
                        " (node ", node.name, ")");
  }
  return "";
}

// Checks what one stage needs apart from its GPUs, and that tp · cp · dp, or
// the sum over the groups of a mixed stage, is their number.
// `no_context_parallel` is only called if the stage has context parallelism or
// is mixed.
absl::Status CheckStage(
    const StageRules& rules, const Cluster& cluster,
    const TrainingOptions& training, int microbatch_size,
    const PlacedStage& stage,
    absl::FunctionRef<absl::string_view()> why_no_context_parallel) {
  const std::string unknown_host = UnknownHost(cluster, stage);
  absl::string_view no_context_parallel;
  if (stage.plan.parallelism.cp_degree > 1 || !stage.mixed.empty()) {
    no_context_parallel = why_no_context_parallel();
  }
  const int num_gpus = static_cast<int>(stage.gpus.size());
  if (num_gpus == 0) return Bad("gpus", "none", "at least one");
  const StageSite site = {.max_gpus = num_gpus,
                          .microbatch_size = microbatch_size,
                          .sequence_length = training.sequence_length,
                          .unknown_host = unknown_host,
                          .no_context_parallel = no_context_parallel};
  if (!stage.mixed.empty()) {
    return CheckMixedStage(rules, stage, site,
                           training.global_batch_size / microbatch_size);
  }
  TANGRAM_RETURN_IF_ERROR(InField("plan", rules.CheckStage(stage.plan, site)));
  const StageParallelism& p = stage.plan.parallelism;
  if (p.num_gpus() == num_gpus) return absl::OkStatus();
  return Bad("gpus", absl::StrCat(num_gpus, " GPUs"),
             absl::StrFormat("%d, as tp %d x cp %d x dp %d", p.num_gpus(),
                             p.tp_degree, p.cp_degree, p.dp_degree));
}

// A device runs at least as many warm-up passes as the next device, which needs
// their outputs.
absl::Status CheckWarmUp(const TrainingOptions& training,
                         const PipelinePlan& plan) {
  const std::vector<int>& passes = plan.warm_up_passes;
  if (passes.empty()) return absl::OkStatus();
  if (plan.schedule != PipelineSchedule::kOneFOneB) {
    return Bad("warm_up.passes", "given",
               absl::StrCat("none, as the schedule is ",
                            ScheduleName(plan.schedule), " and not 1f1b"));
  }
  if (training.blocking_transfers && !training.buffered_sends) {
    return Bad("warm_up.passes", "given",
               "none, as with blocking_transfers stages would wait for each "
               "other in a ring");
  }
  if (static_cast<int>(passes.size()) != plan.num_devices()) {
    return Bad("warm_up.passes", absl::StrCat(passes.size(), " numbers"),
               absl::StrCat(plan.num_devices(), ", one for each stage"));
  }
  for (size_t d = 0; d < passes.size(); ++d) {
    const bool is_last = d + 1 == passes.size();
    const int least = is_last ? 1 : passes[d + 1];
    if (passes[d] >= std::max(least, 1)) continue;
    return Bad(absl::StrCat("warm_up.passes[", d, "]"), absl::StrCat(passes[d]),
               is_last ? "a positive integer"
                       : absl::StrCat("at least those of the next stage, ",
                                      std::max(least, 1)));
  }
  // The counts fall, so the first is the largest.
  if (passes[0] > kMaxWarmUpPasses) {
    return Bad("warm_up.passes[0]", absl::StrCat(passes[0]),
               absl::StrCat("at most ", kMaxWarmUpPasses));
  }
  return absl::OkStatus();
}

// Megatron-LM's interleaved schedule runs microbatches in groups of p, the
// number of devices (2104.04473 §2.2).
absl::Status CheckSchedule(const TrainingOptions& training,
                           const PipelinePlan& plan) {
  const int chunks = plan.virtual_stages;
  if (chunks <= 0) {
    return Bad("virtual_stages", absl::StrCat(chunks), "a positive integer");
  }
  const bool interleaved = plan.schedule == PipelineSchedule::kInterleaved;
  if (!interleaved && chunks > 1) {
    return Bad(
        "virtual_stages", absl::StrCat(chunks),
        absl::StrCat("1, as the schedule is ", ScheduleName(plan.schedule),
                     " and not interleaved"));
  }
  if (plan.num_stages() % chunks != 0) {
    return Bad("stages", absl::StrCat(plan.num_stages()),
               absl::StrCat("a multiple of virtual_stages, ", chunks));
  }
  const int num_microbatches =
      training.global_batch_size / plan.pipeline_microbatch_size;
  if (!interleaved || num_microbatches % plan.num_devices() == 0) {
    return absl::OkStatus();
  }
  return Bad("pipeline_microbatch_size",
             absl::StrCat(plan.pipeline_microbatch_size),
             absl::StrFormat("a number of microbatches, here %d, that is a "
                             "multiple of the interleaved schedule's %d "
                             "devices",
                             num_microbatches, plan.num_devices()));
}

// All chunks of a device have the GPUs and parallelism of its first chunk.
absl::Status CheckChunk(const PipelinePlan& plan, int chunk,
                        const std::string& field) {
  const int first = chunk % plan.num_devices();
  const std::string wanted =
      absl::StrFormat("those of stages[%d], a chunk of the same device", first);
  if (plan.stages[chunk].gpus != plan.stages[first].gpus) {
    return Bad(field + ".gpus", "other GPUs or another order", wanted);
  }
  if (plan.stages[chunk].plan.parallelism !=
      plan.stages[first].plan.parallelism) {
    return Bad(field + ".plan.parallelism", "other degrees or options", wanted);
  }
  return absl::OkStatus();
}

// Returns whether the cluster has the GPU.
bool Exists(const Cluster& cluster, GpuId gpu) {
  return gpu.node >= 0 && gpu.node < static_cast<int>(cluster.nodes.size()) &&
         gpu.index >= 0 && gpu.index < cluster.nodes[gpu.node].num_gpus;
}

// Returns the error of a GPU that no stage has, or of one that `owner` has too.
absl::Status WhyNotClaimed(const Cluster& cluster, GpuId gpu, int owner,
                           const std::string& field) {
  const int num_nodes = static_cast<int>(cluster.nodes.size());
  if (gpu.node < 0 || gpu.node >= num_nodes) {
    return Bad(field, absl::StrCat("node ", gpu.node),
               absl::StrCat("one of the cluster's ", num_nodes,
                            " nodes, counted from 0"));
  }
  const Node& node = cluster.nodes[gpu.node];
  if (!Exists(cluster, gpu)) {
    return Bad(field,
               absl::StrFormat("GPU %d of node %s", gpu.index, node.name),
               absl::StrFormat("one of its %d GPUs, counted from 0",
                               std::max(node.num_gpus, 0)));
  }
  return Bad(field,
             absl::StrFormat("GPU %d of node %s, which stages[%d] uses",
                             gpu.index, node.name, owner),
             "each GPU at most once in a plan");
}

}  // namespace

PlanValidator::PlanValidator(const ModelSpec& model, const Cluster& cluster,
                             const TrainingOptions& training)
    : cluster_(cluster),
      training_(training),
      runs_(MakeSlice({0, model.num_layers()}, model.layers).runs),
      rules_(runs_) {
  int64_t num_gpus = 0;
  for (const Node& node : cluster.nodes) {
    first_of_node_.push_back(num_gpus);
    num_gpus += std::max(node.num_gpus, 0);
  }
  owners_.resize(num_gpus);
}

absl::Status PlanValidator::Claim(
    absl::Span<const GpuId> gpus, int stage,
    absl::FunctionRef<std::string(size_t)> field) {
  for (size_t i = 0; i < gpus.size(); ++i) {
    const GpuId gpu = gpus[i];
    if (!Exists(cluster_, gpu)) {
      return WhyNotClaimed(cluster_, gpu, stage, field(i));
    }
    Owner& owner = owners_[first_of_node_[gpu.node] + gpu.index];
    if (owner.plan == num_plans_) {
      return WhyNotClaimed(cluster_, gpu, owner.stage, field(i));
    }
    owner = {.plan = num_plans_, .stage = stage};
  }
  return absl::OkStatus();
}

absl::Status PlanValidator::Check(const PipelinePlan& plan) {
  TANGRAM_RETURN_IF_ERROR(CheckBatch(training_, plan.pipeline_microbatch_size));
  TANGRAM_RETURN_IF_ERROR(rules_.CheckCover(
      plan.num_stages(),
      [&](int i) -> const StagePlan& { return plan.stages[i].plan; }));
  TANGRAM_RETURN_IF_ERROR(CheckSchedule(training_, plan));
  TANGRAM_RETURN_IF_ERROR(CheckWarmUp(training_, plan));
  TANGRAM_RETURN_IF_ERROR(CheckMixedSchedule(training_, plan));
  ++num_plans_;
  const bool has_known_gpus = HasKnownGpus(plan);
  TANGRAM_RETURN_IF_ERROR(CheckStages(plan, has_known_gpus));
  if (!has_known_gpus) KeepGpus(plan);
  return absl::OkStatus();
}

bool PlanValidator::HasKnownGpus(const PipelinePlan& plan) const {
  if (static_cast<int>(devices_.size()) != plan.num_devices()) return false;
  for (size_t d = 0; d < devices_.size(); ++d) {
    if (!SameGpus(devices_[d].gpus, plan.stages[d].gpus)) return false;
  }
  return true;
}

void PlanValidator::KeepGpus(const PipelinePlan& plan) {
  devices_.resize(plan.num_devices());
  for (size_t d = 0; d < devices_.size(); ++d) {
    if (SameGpus(devices_[d].gpus, plan.stages[d].gpus)) continue;
    devices_[d] = {.gpus = plan.stages[d].gpus};
  }
}

absl::Status PlanValidator::CheckStages(const PipelinePlan& plan,
                                        bool has_known_gpus) {
  for (int i = 0; i < plan.num_stages(); ++i) {
    const PlacedStage& stage = plan.stages[i];
    const std::string field = absl::StrCat("stages[", i, "]");
    if (i >= plan.num_devices()) {
      TANGRAM_RETURN_IF_ERROR(CheckChunk(plan, i, field));
    } else if (!has_known_gpus) {
      TANGRAM_RETURN_IF_ERROR(Claim(stage.gpus, i, [&](size_t j) {
        return absl::StrCat(field, ".gpus[", j, "]");
      }));
    }
    std::string unknown;
    const auto why_no_context_parallel = [&]() -> absl::string_view {
      if (!has_known_gpus) {
        unknown = WhyNoContextParallel(cluster_, training_, stage);
        return unknown;
      }
      std::optional<std::string>& known =
          devices_[i % plan.num_devices()].no_context_parallel;
      if (!known.has_value()) {
        known = WhyNoContextParallel(cluster_, training_, stage);
      }
      return *known;
    };
    TANGRAM_RETURN_IF_ERROR(InField(
        field,
        CheckStage(rules_, cluster_, training_, plan.pipeline_microbatch_size,
                   stage, why_no_context_parallel)));
  }
  return absl::OkStatus();
}

absl::Status ValidatePlan(const ModelSpec& model, const Cluster& cluster,
                          const TrainingOptions& training,
                          const PipelinePlan& plan) {
  return PlanValidator(model, cluster, training).Check(plan);
}

}  // namespace tangram
