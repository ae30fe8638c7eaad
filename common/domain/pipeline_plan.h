#ifndef TANGRAM_COMMON_DOMAIN_PIPELINE_PLAN_H_
#define TANGRAM_COMMON_DOMAIN_PIPELINE_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/domain/cluster.h"
#include "common/domain/mixed_stage.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_schedule.h"
#include "common/domain/stage_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// A stage on its GPUs. GPU i of the list has rank i of the stage (rank order:
// see StageParallelism).
struct PlacedStage {
  StagePlan plan;  // Cuts count from the model's first layer.
  std::vector<GpuId> gpus;
  int island = -1;      // For display; the evaluator does not read it.
  std::string made_by;  // Likewise.
  // Set if the replicas of the stage differ. plan.parallelism then keeps its
  // default, and the groups take the GPUs in order. All groups run the cuts,
  // the recomputation and the offloading of `plan`.
  MixedReplicas mixed;
  bool operator==(const PlacedStage&) const = default;
};

// A pipeline over the whole model. It has num_devices() groups of GPUs, and
// stage i runs on group i mod num_devices(). With virtual_stages 1, each stage
// has its own GPUs. Otherwise the stages are the chunks of the interleaved
// schedule, and the chunks of one group share its GPUs and parallelism.
struct PipelinePlan {
  // Samples that all replicas of a stage together process as one microbatch;
  // the same for every stage. A stage of dp_degree d gives each replica its
  // d-th part.
  int pipeline_microbatch_size = 0;
  PipelineSchedule schedule = PipelineSchedule::kOneFOneB;
  int virtual_stages = 1;  // Chunks of the model on each device.
  // The forward passes of each device before its first backward pass; only with
  // 1F1B. Empty: the p − s of 1F1B. Additional ones hide transfers behind
  // passes (H-1F1B), and each holds one more microbatch.
  std::vector<int> warm_up_passes;
  std::vector<PlacedStage> stages;  // In execution order.

  int num_stages() const { return static_cast<int>(stages.size()); }
  int num_devices() const { return num_stages() / virtual_stages; }
  bool operator==(const PipelinePlan&) const = default;
};

// Returns OK if the plan can run on this cluster: stages cover every operator
// once and in order, no GPU is unknown or used by two devices, degrees multiply
// to the number of GPUs and divide what they split (heads, experts, microbatch,
// global batch), and the stages are what the schedule runs. Otherwise
// kInvalidArgument naming the field, the value and what was expected:
// "stages[1].plan.begin: layer 12; expected layer 10". Memory is not checked:
// see EvaluatePlan.
absl::Status ValidatePlan(const ModelSpec& model, const Cluster& cluster,
                          const TrainingOptions& training,
                          const PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_PIPELINE_PLAN_H_
