#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ESTIMATE_COST_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ESTIMATE_COST_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/tangram/tangram_planner.h"

namespace tangram {

// What planning a request costs at most, with one parallelizer. Pruning mostly
// leaves a small part of the pairs.
struct PlanCost {
  int num_layers = 0;
  int num_atoms = 0;  // After grouping; see atom_groups.h.
  int num_islands = 0;
  int num_microbatch_sizes = 0;
  int64_t num_slices = 0;  // Different ones.
  int64_t num_pairs = 0;   // Asked of the parallelizer at most once for each
                           // number of trailing stages.
  int64_t num_evaluations = 0;  // Whole pipelines that the evaluator scores.
  int64_t bytes = 0;            // In the process that plans.
};

// Takes O(layers + nodes + kMaxAtoms²) steps and asks nobody: atoms are taken
// to be layers, and as many islands as there can be. Errors: kInvalidArgument,
// with the field named, for a request beyond common/domain/limits.h.
absl::StatusOr<PlanCost> EstimateCost(const PlanRequest& request,
                                      const TangramOptions& options);

// The operator's limits.
struct CostLimits {
  int64_t max_pairs = 0;  // 0: any number.
  int64_t max_bytes = 0;  // Likewise.
};

// kResourceExhausted, with the flag named, if `cost` is beyond `limits`.
absl::Status CheckCost(const PlanCost& cost, const CostLimits& limits);

// "34 atoms, 2 islands, 8 microbatch sizes: at most 1,632 pairs ...".
std::string Describe(const PlanCost& cost);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ESTIMATE_COST_H_
