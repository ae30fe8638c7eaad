#include "common/sim/evaluate_replicated_plan.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/base/status_macros.h"
#include "common/sim/model_flops.h"
#include "common/sim/replica_rings.h"
#include "common/sim/stage_figures.h"

namespace tangram {
namespace {

// Plays the part of the iteration after the passes of all pipelines.
class ReplicaFinish {
 public:
  ReplicaFinish(const Cluster& cluster, const ReplicatedPlan& plan,
                std::vector<ReplicaSegment> segments,
                ReplicatedEvaluation& evaluation)
      : plan_(plan),
        segments_(std::move(segments)),
        nodes_(StageNodesOf(plan)),
        evaluation_(evaluation),
        node_free_s_(cluster.nodes.size()) {
    for (size_t r = 0; r < plan.pipelines.size(); ++r) {
      const std::vector<StageEvaluation>& stages =
          evaluation.pipelines[r].stages;
      const int num_devices = plan.pipelines[r].plan.num_devices();
      std::vector<double> ready_s;
      for (int d = 0; d < num_devices; ++d) {
        double free_s = stages[d].passes_end_s;
        passes_end_s_ = std::max(passes_end_s_, free_s);
        for (size_t s = d; s < stages.size(); s += num_devices) {
          free_s += stages[s].sync_s;
        }
        ready_s.push_back(free_s);
      }
      ready_s_.push_back(std::move(ready_s));
    }
  }

  void Play() {
    const std::vector<double> reduced_s =
        PlayAll(&ReplicaSegment::reduce_s, ready_s_);
    double sync_end_s = 0;
    for (size_t i = 0; i < segments_.size(); ++i) {
      const double start_s = reduced_s[i] - segments_[i].reduce_s;
      double& first_s = evaluation_.replica_sync_start_s;
      first_s = i == 0 ? start_s : std::min(first_s, start_s);
      sync_end_s = std::max(sync_end_s, reduced_s[i]);
      for (size_t r = 0; r < ready_s_.size(); ++r) {
        double& ready_s = ready_s_[r][DeviceOf(r, segments_[i])];
        ready_s = std::max(ready_s, reduced_s[i]);
      }
    }
    RunOptimizers();
    if (plan_.sync == ReplicaSync::kZero1) {
      for (const double end_s : PlayAll(&ReplicaSegment::gather_s, ready_s_)) {
        sync_end_s = std::max(sync_end_s, end_s);
      }
    }
    evaluation_.iteration_time_s =
        std::max(evaluation_.iteration_time_s, sync_end_s);
    evaluation_.replica_sync_end_s = sync_end_s;
    evaluation_.exposed_replica_sync_s =
        segments_.empty() ? 0 : std::max(0.0, sync_end_s - passes_end_s_);
  }

 private:
  int DeviceOf(size_t r, const ReplicaSegment& segment) const {
    return segment.stages[r] % plan_.pipelines[r].plan.num_devices();
  }

  // Plays the rings of all segments. Returns the end of each.
  std::vector<double> PlayAll(double ReplicaSegment::*duration_s,
                              const std::vector<std::vector<double>>& ready_s) {
    std::vector<RingTask> tasks;
    for (const ReplicaSegment& segment : segments_) {
      RingTask task = {.duration_s = segment.*duration_s};
      for (size_t r = 0; r < ready_s.size(); ++r) {
        task.nodes.push_back(nodes_[r][segment.stages[r]]);
        task.release_s =
            std::max(task.release_s, ready_s[r][DeviceOf(r, segment)]);
      }
      tasks.push_back(std::move(task));
    }
    return PlayRings(tasks, node_free_s_);
  }

  // Moves ready_s_ to the end of each device's optimizer.
  void RunOptimizers() {
    for (size_t r = 0; r < ready_s_.size(); ++r) {
      const std::vector<StageEvaluation>& stages =
          evaluation_.pipelines[r].stages;
      const size_t num_devices = ready_s_[r].size();
      for (size_t s = 0; s < stages.size(); ++s) {
        ready_s_[r][s % num_devices] += stages[s].optimizer_s;
      }
      for (const double end_s : ready_s_[r]) {
        evaluation_.iteration_time_s =
            std::max(evaluation_.iteration_time_s, end_s);
      }
    }
  }

  const ReplicatedPlan& plan_;
  const std::vector<ReplicaSegment> segments_;
  const StageNodes nodes_;
  ReplicatedEvaluation& evaluation_;
  std::vector<double> node_free_s_;
  double passes_end_s_ = 0;
  // Time at which gradients are ready, by pipeline and device.
  std::vector<std::vector<double>> ready_s_;
};

// Sets the figures of the whole plan over the GPUs of all pipelines.
void SetTotals(const ModelSpec& model, const Cluster& cluster,
               const TrainingOptions& training, const ReplicatedPlan& plan,
               ReplicatedEvaluation& evaluation) {
  const double iteration_s = evaluation.iteration_time_s;
  double peak_flops = 0;
  double gpu_s = 0;
  double idle_gpu_s = 0;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelinePlan& pipeline = plan.pipelines[r].plan;
    peak_flops += PeakFlopsOf(cluster, training, pipeline);
    idle_gpu_s +=
        SetIdleSeconds(pipeline, iteration_s, evaluation.pipelines[r]);
    for (int d = 0; d < pipeline.num_devices(); ++d) {
      gpu_s +=
          static_cast<double>(pipeline.stages[d].gpus.size()) * iteration_s;
    }
  }
  evaluation.samples_per_s = training.global_batch_size / iteration_s;
  evaluation.tokens_per_s = evaluation.samples_per_s * training.sequence_length;
  evaluation.model_flops_utilization =
      ModelFlops(model, training) * evaluation.samples_per_s / peak_flops;
  evaluation.bubble_fraction = idle_gpu_s / gpu_s;
}

}  // namespace

bool ReplicatedEvaluation::fits() const {
  return std::all_of(pipelines.begin(), pipelines.end(),
                     [](const Evaluation& e) { return e.violations.empty(); });
}

Evaluation WithinIteration(const ReplicatedPlan& plan,
                           const ReplicatedEvaluation& evaluation, size_t r) {
  Evaluation pipeline = evaluation.pipelines[r];
  const double iteration_s = evaluation.iteration_time_s;
  const double stretched = pipeline.iteration_time_s / iteration_s;
  pipeline.samples_per_s *= stretched;
  pipeline.tokens_per_s *= stretched;
  pipeline.model_flops_utilization *= stretched;
  pipeline.iteration_time_s = iteration_s;
  double idle_gpu_s = 0;
  double gpu_s = 0;
  const PipelinePlan& stages = plan.pipelines[r].plan;
  for (int d = 0; d < stages.num_devices(); ++d) {
    const double num_gpus = static_cast<double>(stages.stages[d].gpus.size());
    idle_gpu_s += num_gpus * pipeline.stages[d].idle_s;
    gpu_s += num_gpus * iteration_s;
  }
  pipeline.bubble_fraction = idle_gpu_s / gpu_s;
  return pipeline;
}

absl::StatusOr<ReplicatedEvaluation> EvaluateReplicatedPlan(
    const ModelSpec& model, const Cluster& cluster,
    const TrainingOptions& training, const ReplicatedPlan& plan) {
  TANGRAM_RETURN_IF_ERROR(
      ValidateReplicatedPlan(model, cluster, training, plan));
  ReplicatedEvaluation evaluation;
  for (const PipelineReplica& replica : plan.pipelines) {
    TANGRAM_ASSIGN_OR_RETURN(
        Evaluation pipeline,
        EvaluatePlan(
            model, cluster, ShareOf(training, replica), replica.plan,
            /*timeline=*/nullptr,
            plan.sync == ReplicaSync::kAllReduce ? 1 : replica.state_fraction));
    evaluation.pipelines.push_back(std::move(pipeline));
  }
  ReplicaFinish(cluster, plan, ReplicaSegments(model, cluster, training, plan),
                evaluation)
      .Play();
  SetTotals(model, cluster, training, plan, evaluation);
  return evaluation;
}

}  // namespace tangram
