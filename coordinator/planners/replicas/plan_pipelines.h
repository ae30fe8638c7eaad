#ifndef TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PLAN_PIPELINES_H_
#define TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PLAN_PIPELINES_H_

#include "absl/status/status.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/replicas/group_plans.h"

namespace tangram {

// How to look for plans of several pipelines.
struct PipelinesSearch {
  int max_pipelines = 1;
  // Several pipelines must be faster than one by this fraction.
  double min_gain = 0;
  PlanOnePipeline quick;     // Plans a group of nodes in little time,
  PlanOnePipeline thorough;  // and as well as it can.
};

// Replaces the plan of `result`, one pipeline on all islands, by several
// pipelines that share the batch if that takes less time. Each has nodes and a
// whole model of its own (HexiScale, 2409.01143; Malleus, 2410.13333).
//
// A hill climb over partitions of the nodes (NeighboursOf) plans each group of
// nodes once, quickly. Their paces give the shares of the batch (ShareSamples).
// EvaluateReplicatedPlan scores the most promising partitions, the exchange of
// gradients included. The groups of the best one are planned again for their
// shares, thoroughly.
//
// Leaves `result` as it is if it has no plan of one pipeline, if constraints
// name islands, or if nothing is faster by `min_gain`, apart from a note.
// Deterministic. Errors: those of the planners, and kCancelled.
absl::Status PlanPipelines(const PlanRequest& request,
                           const PipelinesSearch& search,
                           PlanObserver& observer, PlanResult& result);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PLAN_PIPELINES_H_
