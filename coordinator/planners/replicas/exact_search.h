#ifndef TANGRAM_COORDINATOR_PLANNERS_REPLICAS_EXACT_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_REPLICAS_EXACT_SEARCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/island.h"
#include "common/domain/replicated_plan.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/replicas/candidate_plans.h"
#include "coordinator/planners/replicas/played_partition.h"

namespace tangram {

// Whether a plan of several pipelines is of use.
using TakesPipelines = std::function<bool(const ReplicatedPlan&)>;

// The limits of a search.
struct ExactLimits {
  int max_pipelines = 2;
  double limit_s = 0;        // Only faster plans are of use.
  int64_t most_plays = 0;    // Plans of several pipelines that are played.
  int64_t most_choices = 0;  // Sets of candidates that are looked at.
  TakesPipelines takes;      // Other plans are of no use; empty: all are.
};

struct ExactAnswer {
  std::optional<PlayedPartition> best;
  // Whether no other plan of the kind is faster: no limit but limit_s was met.
  bool is_exact = true;
  int64_t num_plays = 0;
};

// Finds the fastest plan of 2 to max_pipelines pipelines. Each is one of the
// candidates, which may come as often as there are nodes, with any number of
// microbatches; the samples add up to the batch, and nodes may be left out.
// Gradients are added up by all-reduce, or by ZeRO-1 with equal fractions of
// state. The time of a plan is that of EvaluateReplicatedPlan.
//
// Branch and bound. With T the best time so far:
//  - N_c(T), the most samples that candidate c alone can do in T, bounds its
//    share;
//  - V(X, k), the most samples that at most k pipelines on nodes X can do in T,
//    bounds what can be added to a choice:
//      V(X, k) = max over c within X of N_c(T) + V(X - c, k - 1);
//  - LeastJoinedSeconds bounds the share of each pipeline of a choice, exchange
//    included.
// Deterministic. kCancelled: the observer said stop.
absl::StatusOr<ExactAnswer> SearchExactly(const PlanRequest& request,
                                          absl::Span<const Island> islands,
                                          CandidatePlans& candidates,
                                          const ExactLimits& limits,
                                          PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REPLICAS_EXACT_SEARCH_H_
