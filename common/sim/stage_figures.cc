#include "common/sim/stage_figures.h"

#include <algorithm>
#include <cstddef>

#include "common/sim/weight_gradient.h"

namespace tangram {
namespace {

// NCCL buffers this much between two GPUs (NCCL_BUFFSIZE). A message of at most
// this size does not stall the sender.
constexpr double kNcclBuffer_bytes = 4 << 20;

double NumGpus(const PlacedStage& stage) {
  return static_cast<double>(stage.gpus.size());
}

// Whether the figures of a mixed stage are those of its groups. A file from
// elsewhere may have others.
bool HasGroupFigures(const PlacedStage& stage, const StageEvaluation& figures) {
  return !stage.mixed.empty() &&
         figures.replicas.size() == stage.mixed.groups.size();
}

// Sets idle_s of a mixed stage, which is alone on its GPUs, and of its groups.
void SetIdleOfGroups(const PlacedStage& stage, double iteration_s,
                     StageEvaluation& figures) {
  double idle_gpu_s = 0;
  for (size_t g = 0; g < figures.replicas.size(); ++g) {
    StageEvaluation& group = figures.replicas[g];
    group.idle_s = std::max(
        0.0, iteration_s - (group.busy_s + group.sync_s + group.optimizer_s));
    idle_gpu_s += stage.mixed.groups[g].parallelism.num_gpus() * group.idle_s;
  }
  figures.idle_s = idle_gpu_s / NumGpus(stage);
}

}  // namespace

PipelineShape ShapeOf(const PipelinePlan& plan,
                      const TrainingOptions& training) {
  return {.schedule = plan.schedule,
          .num_devices = plan.num_devices(),
          .virtual_stages = plan.virtual_stages,
          .num_microbatches =
              training.global_batch_size / plan.pipeline_microbatch_size,
          .warm_up_passes = plan.warm_up_passes};
}

StageTimes TimesOf(const StageCost& cost) {
  return {.forward_s = cost.forward_s,
          .backward_s = cost.backward_s,
          .weight_gradient_s = WeightGradientSeconds(cost),
          .sync_s = cost.sync_s,
          .optimizer_s = cost.optimizer_s};
}

double ComputeSeconds(const StageCost& cost) {
  return cost.forward_s - cost.forward_copy_s + cost.backward_s -
         cost.backward_copy_s - cost.comm_s;
}

StageEvaluation StaticEvaluation(const StageCost& cost, const StageTimes& times,
                                 const DeviceSpec& device) {
  return {.forward_s = cost.forward_s,
          .backward_s = cost.backward_s,
          .recompute_s = cost.recompute_s,
          .collective_s = cost.comm_s,
          .copy_s = cost.forward_copy_s + cost.backward_copy_s,
          .send_s = times.send_forward_s + times.send_backward_s,
          .sync_s = cost.sync_s,
          .optimizer_s = cost.optimizer_s,
          .static_bytes = cost.memory.static_bytes,
          .weight_bytes = cost.memory.weight_bytes,
          .gradient_bytes = cost.memory.gradient_bytes,
          .optimizer_bytes = cost.memory.optimizer_bytes,
          .transient_bytes = cost.memory.transient_bytes,
          .capacity_bytes = device.memory_bytes,
          .host_capacity_bytes = device.host.memory_bytes};
}

double SentBytes(const ModelSpec& model, const TrainingOptions& training,
                 const PipelinePlan& plan, OperatorCut cut,
                 const StageParallelism& receiver, bool is_gradient) {
  const LayerSpec& layer = model.layers[cut.layer];
  const double bytes =
      BoundaryBytes(layer, cut.op, plan.pipeline_microbatch_size, training);
  const bool whole_gradients =
      training.blocking_transfers && training.gradient_copy;
  const bool copied =
      training.buffered_sends || (is_gradient && whole_gradients);
  if (!copied || receiver.sequence_parallel) return bytes;
  const double residual_bytes = 1.0 * plan.pipeline_microbatch_size *
                                training.sequence_length * layer.hidden_size *
                                ElementBytes(training.precision);
  return bytes + (receiver.tp_degree - 1) * std::min(bytes, residual_bytes);
}

bool TransferBlocks(const TrainingOptions& training, PipelineSchedule schedule,
                    double bytes, const TransferPath& path) {
  return training.blocking_transfers &&
         (schedule == PipelineSchedule::kOneFOneB ||
          schedule == PipelineSchedule::kGpipe) &&
         (training.buffered_sends || bytes / path.flows > kNcclBuffer_bytes);
}

std::vector<PartFigures> PartFiguresOf(const PipelinePlan& plan,
                                       const Evaluation& evaluation, int s) {
  const PlacedStage& stage = plan.stages[s];
  const StageEvaluation& figures = evaluation.stages[s];
  if (!HasGroupFigures(stage, figures)) {
    return {{.num_gpus = NumGpus(stage), .figures = &figures}};
  }
  std::vector<PartFigures> parts;
  for (size_t g = 0; g < figures.replicas.size(); ++g) {
    parts.push_back(
        {.num_gpus = 1.0 * stage.mixed.groups[g].parallelism.num_gpus(),
         .figures = &figures.replicas[g]});
  }
  return parts;
}

double SetIdleSeconds(const PipelinePlan& plan, double iteration_s,
                      Evaluation& evaluation) {
  const int num_devices = plan.num_devices();
  double idle_gpu_s = 0;
  for (int d = 0; d < num_devices; ++d) {
    const PlacedStage& first = plan.stages[d];
    if (HasGroupFigures(first, evaluation.stages[d])) {
      SetIdleOfGroups(first, iteration_s, evaluation.stages[d]);
    } else {
      double idle_s = iteration_s;
      for (int s = d; s < plan.num_stages(); s += num_devices) {
        const StageEvaluation& stage = evaluation.stages[s];
        idle_s -= stage.busy_s + stage.sync_s + stage.optimizer_s;
      }
      // Rounding may give a device that never waits a negative time.
      for (int s = d; s < plan.num_stages(); s += num_devices) {
        evaluation.stages[s].idle_s = std::max(0.0, idle_s);
      }
    }
    idle_gpu_s += NumGpus(first) * evaluation.stages[d].idle_s;
  }
  return idle_gpu_s;
}

}  // namespace tangram
