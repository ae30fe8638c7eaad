#ifndef TANGRAM_COMMON_SIM_EVALUATE_REPLICATED_PLAN_H_
#define TANGRAM_COMMON_SIM_EVALUATE_REPLICATED_PLAN_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/replicated_plan.h"
#include "common/domain/training_options.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/replica_rings.h"

namespace tangram {

struct ReplicatedEvaluation {
  double iteration_time_s = 0;
  double samples_per_s = 0;
  double tokens_per_s = 0;
  double model_flops_utilization = 0;
  double bubble_fraction = 0;  // Idle share of the used GPUs' time.
  // Start and end of the exchange of gradients between pipelines. Both are 0
  // with one pipeline.
  double replica_sync_start_s = 0;
  double replica_sync_end_s = 0;
  // The part of the iteration in which no pipeline runs passes, but gradients
  // or weights are still in transfer.
  double exposed_replica_sync_s = 0;
  // Each pipeline evaluated with its share of the batch and its fraction of the
  // optimizer state. Only idle_s refers to the whole iteration.
  std::vector<Evaluation> pipelines;

  bool fits() const;  // No pipeline has a violation.
};

// Returns the figures of pipeline `r` with the iteration time of the whole
// plan, to show one pipeline at a time. Its busy times do not change.
Evaluation WithinIteration(const ReplicatedPlan& plan,
                           const ReplicatedEvaluation& evaluation, size_t r);

// Evaluates a plan of several pipelines as EvaluatePlan evaluates one:
//  1. Plays each pipeline with its share of the batch, and its stages' own
//     gradient reduction.
//  2. Plays the rings that add up the gradients of the pipelines, segment by
//     segment, on the links of the nodes that they share (ReplicaSegments,
//     PlayRings). A segment may start when the last pipeline has its gradients.
//     With kZero2, each pipeline instead sends the gradients of a segment after
//     each backward pass of the stage that holds it.
//  3. Runs the optimizer of each device on its fraction of the state, once its
//     segments have arrived.
//  4. With kZero1 and kZero2, plays the rings that gather the new weights.
// With one pipeline and all-reduce, the iteration time is EvaluatePlan's.
//
// Returns kInvalidArgument if ValidateReplicatedPlan does, and if a figure is
// not finite; kCancelled if `should_stop`, which may be empty and is polled
// every few milliseconds, returns true. `timelines`, if given, is filled with
// the events of each pipeline, in order of stage, then start. It is left empty
// if all pipelines together have more than kMaxTimelineEvents. Thread-safe,
// deterministic.
absl::StatusOr<ReplicatedEvaluation> EvaluateReplicatedPlan(
    const ModelSpec& model, const Cluster& cluster,
    const TrainingOptions& training, const ReplicatedPlan& plan,
    std::vector<std::vector<TimelineEvent>>* timelines = nullptr,
    const std::function<bool()>& should_stop = nullptr);

// Returns the share of optimizer state and gradients that a stage of `replica`
// keeps, with which EvaluateReplicatedPlan evaluates its plan.
StateShare ShareOfState(ReplicaSync sync, const PipelineReplica& replica);

// Plays steps 2 to 4 of EvaluateReplicatedPlan for `pipelines`, which were
// evaluated with their shares (ShareOf, ShareOfState) before. `segments` are
// those of the plan. `plan` has passed ValidateReplicatedPlan, and its sync is
// not kZero2. So a search that changes shares need not play all again.
ReplicatedEvaluation JoinPipelines(const ModelSpec& model,
                                   const Cluster& cluster,
                                   const TrainingOptions& training,
                                   const ReplicatedPlan& plan,
                                   std::vector<ReplicaSegment> segments,
                                   std::vector<Evaluation> pipelines);

// Returns a lower bound of the end of an iteration in which pipeline `r` is
// `pipeline`, whatever the others do. Every device takes part in the exchange
// of its segments one after the other, and begins when it has its gradients:
//   max over d of ready_d + sum over its segments of (reduce + gather)
//                         + sum over its stages of optimizer.
double LeastJoinedSeconds(absl::Span<const ReplicaSegment> segments, size_t r,
                          const Evaluation& pipeline, int num_devices);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_EVALUATE_REPLICATED_PLAN_H_
