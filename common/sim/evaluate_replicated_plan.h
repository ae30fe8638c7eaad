#ifndef TANGRAM_COMMON_SIM_EVALUATE_REPLICATED_PLAN_H_
#define TANGRAM_COMMON_SIM_EVALUATE_REPLICATED_PLAN_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/replicated_plan.h"
#include "common/domain/training_options.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {

struct ReplicatedEvaluation {
  double iteration_time_s = 0;
  double samples_per_s = 0;
  double tokens_per_s = 0;
  double model_flops_utilization = 0;
  double bubble_fraction = 0;  // Idle share of the used GPUs' time.
  // The pipelines add up their gradients over their links from here to there;
  // both 0 with one pipeline.
  double replica_sync_start_s = 0;
  double replica_sync_end_s = 0;
  // The part of the iteration in which no pipeline runs passes and gradients or
  // weights are still on their way.
  double exposed_replica_sync_s = 0;
  // Each pipeline with its share of the batch alone and its fraction of the
  // optimizer state; but idle_s is of the whole iteration.
  std::vector<Evaluation> pipelines;

  bool fits() const;  // No pipeline has a violation.
};

// The figures of pipeline `r` within the iteration of all pipelines, for those
// who show one at a time: its GPUs are as busy, in the time of the whole.
Evaluation WithinIteration(const ReplicatedPlan& plan,
                           const ReplicatedEvaluation& evaluation, size_t r);

// Judges a plan of several pipelines as EvaluatePlan judges one:
//  1. Plays each pipeline with its share of the batch, and its stages' own
//     gradient reduction.
//  2. Plays the rings that add up the gradients of the pipelines, segment by
//     segment, on the links of the nodes that they share (ReplicaSegments,
//     PlayRings). A segment can go when the last pipeline has its gradients.
//  3. Runs the optimizer of each device when its segments are there, on its
//     fraction of the state.
//  4. With kZero1, plays the rings that gather the new weights.
// With one pipeline and all-reduce, the iteration time is EvaluatePlan's.
//
// Returns kInvalidArgument where ValidateReplicatedPlan does.
// Thread-safe, deterministic.
absl::StatusOr<ReplicatedEvaluation> EvaluateReplicatedPlan(
    const ModelSpec& model, const Cluster& cluster,
    const TrainingOptions& training, const ReplicatedPlan& plan);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_EVALUATE_REPLICATED_PLAN_H_
