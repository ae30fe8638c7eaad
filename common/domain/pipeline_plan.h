#ifndef TANGRAM_COMMON_DOMAIN_PIPELINE_PLAN_H_
#define TANGRAM_COMMON_DOMAIN_PIPELINE_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// A stage on its GPUs. GPU i of the list has rank i of the stage (rank order:
// see StageParallelism).
struct PlacedStage {
  StagePlan plan;  // Cuts count from the model's first layer.
  std::vector<GpuId> gpus;
  int island = -1;      // For people; the evaluator does not read it.
  std::string made_by;  // Likewise.
  bool operator==(const PlacedStage&) const = default;
};

// A 1F1B pipeline over the whole model, in execution order.
struct PipelinePlan {
  // Samples that all replicas of a stage together process as one microbatch;
  // the same for every stage. A stage of dp_degree d gives each replica its
  // d-th part.
  int pipeline_microbatch_size = 0;
  std::vector<PlacedStage> stages;

  int num_stages() const { return static_cast<int>(stages.size()); }
  bool operator==(const PipelinePlan&) const = default;
};

// OK if the plan is one that can be run on this cluster at all: stages cover
// every operator once and in order, no GPU is used twice or unknown, degrees
// multiply to the number of GPUs and divide what they split (heads, experts,
// microbatch, global batch). Otherwise kInvalidArgument naming the field, the
// value and what was expected: "stages[1].begin: layer 12; expected layer 10".
// Memory is not looked at: see EvaluatePlan.
absl::Status ValidatePlan(const ModelSpec& model, const Cluster& cluster,
                          const TrainingOptions& training,
                          const PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_PIPELINE_PLAN_H_
