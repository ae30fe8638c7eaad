#ifndef TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PLAN_PIPELINES_H_
#define TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PLAN_PIPELINES_H_

#include "absl/status/status.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/replicas/exact_search.h"
#include "coordinator/planners/replicas/group_plans.h"

namespace tangram {

// How to look for plans of several pipelines.
struct PipelinesSearch {
  int max_pipelines = 1;
  // Several pipelines must be faster than one by this fraction.
  double min_gain = 0;
  PlanOnePipeline quick;     // Plans a group of nodes in little time,
  PlanOnePipeline thorough;  // and as well as it can.
  // Other plans are of no use, as a framework does not train them. Empty: all
  // are.
  TakesPipelines takes;
};

// Replaces the plan of `result`, one pipeline on all islands, by several
// pipelines that share the batch if that takes less time. Each has nodes and a
// whole model of its own (HexiScale, 2409.01143; Malleus, 2410.13333).
//
// A group is planned as a request of its own, with part of the batch, and its
// nodes are counted, not named, as those of an island are alike. SearchExactly
// finds the fastest combination of all plans that were made. These are:
//  - all groups of nodes for all numbers of samples, if these are few. Then the
//    answer is exact over all plans of 2 to max_pipelines pipelines, each of
//    which is the quick planner's for some part of the batch, with any numbers
//    of microbatches, by all-reduce or ZeRO-1, by EvaluateReplicatedPlan;
//  - all groups, or those of few parts of each island (CoarseGroups), for some
//    numbers of samples near their part of the peak FLOP/s;
//  - if these are not all groups, also those that a hill climb over partitions
//    (NeighboursOf) meets from the best one, from islands and types alone and
//    from equal groups. The most promising partitions are simulated with the
//    shares that end together by the paces of the groups (ShareSamples).
// The groups of the best partition, and islands and types alone, are planned
// again for their shares, thoroughly, and combined once more.
//
// Leaves `result` as it is if it has no plan of one pipeline, if constraints
// name islands, or if nothing is faster by `min_gain`, apart from a note.
// Deterministic. Errors: those of the planners, and kCancelled.
absl::Status PlanPipelines(const PlanRequest& request,
                           const PipelinesSearch& search,
                           PlanObserver& observer, PlanResult& result);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PLAN_PIPELINES_H_
