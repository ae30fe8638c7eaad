#ifndef TANGRAM_COMMON_DOMAIN_REPLICATED_PLAN_H_
#define TANGRAM_COMMON_DOMAIN_REPLICATED_PLAN_H_

#include <vector>

#include "absl/status/status.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// The way in which the pipelines of a ReplicatedPlan add up their gradients,
// once an iteration.
enum class ReplicaSync {
  // Every pipeline gets the whole sum and keeps the whole optimizer state.
  kAllReduce,
  // Each pipeline gets its fraction of the sum, keeps that fraction of the
  // optimizer state, and sends the new weights to the others.
  kZero1,
  // Each pipeline keeps its fraction of the optimizer state and of the summed
  // gradients. It sends its gradients of a microbatch to the others after the
  // backward pass, and waits for none of them. New weights are sent as with
  // kZero1.
  kZero2,
};

inline constexpr ReplicaSync kReplicaSyncs[] = {
    ReplicaSync::kAllReduce, ReplicaSync::kZero1, ReplicaSync::kZero2};

// "all-reduce", "zero1", "zero2".
const char* ReplicaSyncName(ReplicaSync sync);

// One pipeline over the whole model and its share of each global batch.
struct PipelineReplica {
  PipelinePlan plan;
  int num_microbatches = 0;  // Each has plan.pipeline_microbatch_size samples.
  // Its fraction of the optimizer state of each layer, and with kZero2 of the
  // gradients. 0 with kAllReduce.
  double state_fraction = 0;
  bool operator==(const PipelineReplica&) const = default;
};

// R ≥ 1 pipelines on disjoint GPUs, each with stages, cuts, degrees, schedule
// and microbatch size of its own ("replica pipelines"). The pipelines together
// train one global batch: Σ num_microbatches · pipeline_microbatch_size. The
// gradient of a sample weighs the same in all of them, so a runtime must weigh
// the mean of pipeline r by its share of the batch.
struct ReplicatedPlan {
  std::vector<PipelineReplica> pipelines;
  ReplicaSync sync = ReplicaSync::kAllReduce;
  bool operator==(const ReplicatedPlan&) const = default;
};

// Returns the training options of one pipeline, with its share of the batch as
// global batch. The caller ensures that the product does not overflow
// (ValidateReplicatedPlan).
TrainingOptions ShareOf(const TrainingOptions& training,
                        const PipelineReplica& replica);

// Returns OK if every pipeline passes ValidatePlan on its share, no two use the
// same GPU, the shares add up to the global batch, and with kZero1 and kZero2
// the state fractions add up to 1. Otherwise kInvalidArgument:
// "pipelines[1].stages[0].gpus[2]: ...".
absl::Status ValidateReplicatedPlan(const ModelSpec& model,
                                    const Cluster& cluster,
                                    const TrainingOptions& training,
                                    const ReplicatedPlan& plan);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_REPLICATED_PLAN_H_
