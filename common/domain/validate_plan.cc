#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/domain/pipeline_plan.h"

namespace tangram {
namespace {

// "field: found; expected wanted".
absl::Status Bad(const std::string& field, const std::string& found,
                 const std::string& wanted) {
  return FieldError(field, found, wanted);
}

absl::Status CheckDivides(const std::string& field, int divisor, int dividend,
                          const char* what) {
  if (dividend % divisor == 0) return absl::OkStatus();
  return Bad(field, absl::StrCat(divisor),
             absl::StrCat("a divisor of ", what, ", ", dividend));
}

std::string CutText(OperatorCut cut) {
  return cut.op == 0 ? absl::StrCat("layer ", cut.layer)
                     : absl::StrCat("layer ", cut.layer, " operator ", cut.op);
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
  return CheckDivides("pipeline_microbatch_size", microbatch_size,
                      training.global_batch_size, "the global batch size");
}

// The end of layer l is {l + 1, 0}, so the last cut is {number of layers, 0}.
absl::Status CheckCut(const ModelSpec& model, OperatorCut cut,
                      const std::string& field) {
  if (cut.layer < 0 || cut.layer > model.num_layers()) {
    return Bad(field, CutText(cut),
               absl::StrCat("a layer from 0 to ", model.num_layers()));
  }
  const int num_ops =
      cut.layer < model.num_layers()
          ? static_cast<int>(OperatorsOf(model.layers[cut.layer]).size())
          : 1;
  if (cut.op >= 0 && cut.op < num_ops) return absl::OkStatus();
  return Bad(field, CutText(cut),
             absl::StrCat("an operator from 0 to ", num_ops - 1));
}

// Checks that the stages cover the model in order, without gaps or overlaps.
absl::Status CheckCoverage(const ModelSpec& model,
                           absl::Span<const PlacedStage> stages) {
  if (stages.empty()) return Bad("stages", "none", "at least one");
  const OperatorCut model_end = {model.num_layers(), 0};
  OperatorCut covered;
  for (size_t i = 0; i < stages.size(); ++i) {
    const StagePlan& stage = stages[i].plan;
    const std::string field = absl::StrCat("stages[", i, "]");
    TANGRAM_RETURN_IF_ERROR(CheckCut(model, stage.begin, field + ".begin"));
    TANGRAM_RETURN_IF_ERROR(CheckCut(model, stage.end, field + ".end"));
    if (stage.begin != covered) {
      const char* why = stage.begin < covered ? "the stages overlap"
                                              : "no stage runs what is between";
      return Bad(field + ".begin", CutText(stage.begin),
                 absl::StrCat(CutText(covered), " (", why, ")"));
    }
    if (stage.end <= stage.begin) {
      return Bad(field + ".end", CutText(stage.end),
                 absl::StrCat("a cut after ", CutText(stage.begin),
                              " (the stage is empty)"));
    }
    covered = stage.end;
  }
  if (covered == model_end) return absl::OkStatus();
  return Bad(absl::StrCat("stages[", stages.size() - 1, "].end"),
             CutText(covered),
             absl::StrCat(CutText(model_end), ", the end of the model"));
}

// Checks that tp · cp · dp is the number of GPUs, and the ZeRO stage is known.
absl::Status CheckDegrees(const PlacedStage& stage, const std::string& field) {
  const StageParallelism& p = stage.plan.parallelism;
  const int64_t num_gpus = static_cast<int64_t>(stage.gpus.size());
  const struct {
    const char* name;
    int value;
  } degrees[] = {{".parallelism.tp_degree", p.tp_degree},
                 {".parallelism.cp_degree", p.cp_degree},
                 {".parallelism.dp_degree", p.dp_degree},
                 {".parallelism.ep_degree", p.ep_degree},
                 {".parallelism.tp_y_degree", p.tp_y_degree}};
  for (const auto& degree : degrees) {
    // The bound keeps the product below from overflowing.
    if (degree.value <= 0 || degree.value > num_gpus) {
      return Bad(field + degree.name, absl::StrCat(degree.value),
                 absl::StrCat("a positive integer, at most the stage's ",
                              num_gpus, " GPUs"));
    }
  }
  const int64_t product = int64_t{p.tp_degree} * p.cp_degree * p.dp_degree;
  if (product != num_gpus) {
    return Bad(field + ".gpus", absl::StrCat(num_gpus, " GPUs"),
               absl::StrFormat("%d, as tp %d x cp %d x dp %d", product,
                               p.tp_degree, p.cp_degree, p.dp_degree));
  }
  if (p.zero_stage < 0 || p.zero_stage > 3) {
    return Bad(field + ".parallelism.zero_stage", absl::StrCat(p.zero_stage),
               "0, 1, 2 or 3");
  }
  return absl::OkStatus();
}

// MindSpeed's tp-2d excludes experts. It also excludes sequence parallelism,
// which it replaces: tp-2d itself splits norms and residuals.
absl::Status CheckTp2d(const ModelSpec& model, const StagePlan& stage,
                       const std::string& prefix) {
  const StageParallelism& p = stage.parallelism;
  const std::string field = prefix + "tp_y_degree";
  TANGRAM_RETURN_IF_ERROR(
      CheckDivides(field, p.tp_y_degree, p.tp_degree, "tp_degree"));
  if (p.tp_y_degree == 1) return absl::OkStatus();
  if (p.sequence_parallel) {
    return Bad(field, absl::StrCat(p.tp_y_degree), "1 with sequence_parallel");
  }
  const int num_layers = LayersTouched(stage.begin, stage.end);
  for (int i = 0; i < num_layers; ++i) {
    const int layer = stage.begin.layer + i;
    if (AllowsTp2d(model.layers[layer])) continue;
    return Bad(field, absl::StrCat(p.tp_y_degree),
               absl::StrFormat("1, as layer %d has experts or latent attention",
                               layer));
  }
  return absl::OkStatus();
}

// Key and value heads are split over tp ranks. If there are fewer heads than
// ranks, each is repeated on several ranks.
absl::Status CheckHeads(const LayerSpec& layer, int tp,
                        const std::string& field) {
  TANGRAM_RETURN_IF_ERROR(
      CheckDivides(field, tp, layer.num_heads, "the number of heads"));
  const int kv_heads = layer.num_kv_heads;
  if (kv_heads <= 0 || kv_heads % tp == 0 || tp % kv_heads == 0) {
    return absl::OkStatus();
  }
  return Bad(field, absl::StrCat(tp),
             absl::StrCat("a divisor or a multiple of the number of key and "
                          "value heads, ",
                          kv_heads));
}

// Checks that each degree divides the dimension that it splits: dp the
// microbatch, cp the sequence, ep the experts and cp · dp, tp the heads.
absl::Status CheckSplits(const ModelSpec& model,
                         const TrainingOptions& training, int microbatch_size,
                         const StagePlan& stage, const std::string& field) {
  const StageParallelism& p = stage.parallelism;
  const std::string prefix = field + ".parallelism.";
  TANGRAM_RETURN_IF_ERROR(CheckDivides(prefix + "dp_degree", p.dp_degree,
                                       microbatch_size,
                                       "pipeline_microbatch_size"));
  TANGRAM_RETURN_IF_ERROR(CheckDivides(prefix + "cp_degree", p.cp_degree,
                                       training.sequence_length,
                                       "the sequence length"));
  TANGRAM_RETURN_IF_ERROR(CheckDivides(prefix + "ep_degree", p.ep_degree,
                                       p.cp_degree * p.dp_degree, "cp x dp"));
  TANGRAM_RETURN_IF_ERROR(CheckTp2d(model, stage, prefix));
  const int num_layers = LayersTouched(stage.begin, stage.end);
  for (int i = 0; i < num_layers; ++i) {
    const LayerSpec& layer = model.layers[stage.begin.layer + i];
    TANGRAM_RETURN_IF_ERROR(
        CheckHeads(layer, p.tp_degree, prefix + "tp_degree"));
    TANGRAM_RETURN_IF_ERROR(CheckDivides(prefix + "ep_degree", p.ep_degree,
                                         layer.num_experts,
                                         "the number of experts"));
  }
  return absl::OkStatus();
}

// Checks that the runs cover the stage's layers, with bits for operators only.
absl::Status CheckRecompute(const ModelSpec& model, const StagePlan& stage,
                            const std::string& field) {
  const int touched = LayersTouched(stage.begin, stage.end);
  int covered = 0;
  for (size_t r = 0; r < stage.recompute.size(); ++r) {
    const RecomputeRun& run = stage.recompute[r];
    const std::string run_field = absl::StrCat(field, ".recompute[", r, "]");
    if (run.num_layers <= 0 || run.num_layers > touched - covered) {
      return Bad(run_field + ".num_layers", absl::StrCat(run.num_layers),
                 absl::StrCat("a positive integer, at most the ",
                              touched - covered, " left of the stage"));
    }
    for (int i = 0; i < run.num_layers; ++i, ++covered) {
      const int layer = stage.begin.layer + covered;
      const size_t num_ops = OperatorsOf(model.layers[layer]).size();
      if ((run.mask & ~kDropOutputs) >> num_ops != 0) {
        return Bad(run_field + ".mask", absl::StrFormat("%#x", run.mask),
                   absl::StrFormat("bits below %d only, the number of "
                                   "operators of layer %d",
                                   num_ops, layer));
      }
    }
  }
  if (covered == touched) return absl::OkStatus();
  return Bad(field + ".recompute", absl::StrCat(covered, " layers"),
             absl::StrCat(touched, ", as many as the stage touches"));
}

// Checks that the offloaded parts are fractions, and that the host link of
// every node is known.
absl::Status CheckOffload(const Cluster& cluster, const PlacedStage& stage,
                          const std::string& field) {
  const HostOffload& offload = stage.plan.offload;
  const struct {
    const char* name;
    double value;
  } fractions[] = {{".offload.weights", offload.weights},
                   {".offload.gradients", offload.gradients},
                   {".offload.optimizer", offload.optimizer},
                   {".offload.activations", offload.activations}};
  for (const auto& fraction : fractions) {
    // NaN fails the test.
    if (fraction.value >= 0 && fraction.value <= 1) continue;
    return Bad(field + fraction.name, absl::StrCat(fraction.value),
               "a fraction from 0 to 1");
  }
  if (offload.none()) return absl::OkStatus();
  for (const GpuId& gpu : stage.gpus) {
    const Node& node = cluster.nodes[gpu.node];
    if (node.device.host.bandwidth_bytes_per_s > 0) continue;
    return Bad(field + ".offload", "given",
               absl::StrCat("none, as the host link of node ", node.name,
                            " is not known"));
  }
  return absl::OkStatus();
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
    return Bad(field + ".parallelism", "other degrees or options", wanted);
  }
  return absl::OkStatus();
}

// The stage that uses each GPU of the cluster, as far as stages were added.
class GpuOwners {
 public:
  explicit GpuOwners(const Cluster& cluster) : cluster_(cluster) {
    for (const Node& node : cluster.nodes) {
      owners_.emplace_back(std::max(node.num_gpus, 0), kNobody);
    }
  }

  absl::Status Claim(GpuId gpu, int stage, const std::string& field) {
    if (gpu.node < 0 || gpu.node >= static_cast<int>(owners_.size())) {
      return Bad(field, absl::StrCat("node ", gpu.node),
                 absl::StrCat("one of the cluster's ", owners_.size(),
                              " nodes, counted from 0"));
    }
    const std::string& name = cluster_.nodes[gpu.node].name;
    std::vector<int>& node = owners_[gpu.node];
    if (gpu.index < 0 || gpu.index >= static_cast<int>(node.size())) {
      return Bad(
          field, absl::StrFormat("GPU %d of node %s", gpu.index, name),
          absl::StrFormat("one of its %d GPUs, counted from 0", node.size()));
    }
    int& owner = node[gpu.index];
    if (owner != kNobody) {
      return Bad(field,
                 absl::StrFormat("GPU %d of node %s, which stages[%d] uses",
                                 gpu.index, name, owner),
                 "each GPU at most once in a plan");
    }
    owner = stage;
    return absl::OkStatus();
  }

 private:
  static constexpr int kNobody = -1;

  const Cluster& cluster_;
  std::vector<std::vector<int>> owners_;
};

}  // namespace

absl::Status ValidatePlan(const ModelSpec& model, const Cluster& cluster,
                          const TrainingOptions& training,
                          const PipelinePlan& plan) {
  TANGRAM_RETURN_IF_ERROR(CheckBatch(training, plan.pipeline_microbatch_size));
  TANGRAM_RETURN_IF_ERROR(CheckCoverage(model, plan.stages));
  TANGRAM_RETURN_IF_ERROR(CheckSchedule(training, plan));
  TANGRAM_RETURN_IF_ERROR(CheckWarmUp(training, plan));
  GpuOwners owners(cluster);
  for (int i = 0; i < plan.num_stages(); ++i) {
    const PlacedStage& stage = plan.stages[i];
    const std::string field = absl::StrCat("stages[", i, "]");
    TANGRAM_RETURN_IF_ERROR(CheckDegrees(stage, field));
    TANGRAM_RETURN_IF_ERROR(CheckSplits(
        model, training, plan.pipeline_microbatch_size, stage.plan, field));
    TANGRAM_RETURN_IF_ERROR(CheckRecompute(model, stage.plan, field));
    if (i >= plan.num_devices()) {
      TANGRAM_RETURN_IF_ERROR(CheckChunk(plan, i, field));
    } else {
      for (size_t j = 0; j < stage.gpus.size(); ++j) {
        TANGRAM_RETURN_IF_ERROR(owners.Claim(
            stage.gpus[j], i, absl::StrCat(field, ".gpus[", j, "]")));
      }
    }
    TANGRAM_RETURN_IF_ERROR(CheckOffload(cluster, stage, field));
  }
  return absl::OkStatus();
}

}  // namespace tangram
