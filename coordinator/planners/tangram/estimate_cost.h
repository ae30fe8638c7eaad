#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ESTIMATE_COST_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ESTIMATE_COST_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/tangram/tangram_planner.h"

namespace tangram {

// Upper bounds on the cost of one search: of a request with one parallelizer,
// without a runtime. Pruning usually leaves a small part of the pairs. Several
// parallelizers, a runtime, islands that are also planned divided, and
// constraints without a plan take several searches, one after the other, each
// within these bounds.
struct PlanCost {
  int num_layers = 0;
  int num_atoms = 0;  // After grouping; see atom_groups.h.
  int num_islands = 0;
  int num_microbatch_sizes = 0;
  int64_t num_slices = 0;  // Distinct slices.
  int64_t num_pairs = 0;   // Asked of the parallelizer at most once for each
                           // number of trailing stages.
  int64_t num_evaluations = 0;  // Whole pipelines that the judge scores.
  // Memory of the planner. A parallelizer in the same process takes its own.
  int64_t bytes = 0;
};

// Returns the cost without asking a parallelizer, in O(layers + nodes +
// kMaxAtoms²) steps for each possible number of islands. It assumes that every
// layer is an atom, and that an answer takes at most kBytesPerAnswer. Errors:
// kInvalidArgument naming the field, for a request beyond
// common/domain/limits.h.
absl::StatusOr<PlanCost> EstimateCost(const PlanRequest& request,
                                      const TangramOptions& options);

// Returns the bytes of one copy of the request, apart from texts for people.
int64_t BytesOfRequest(const PlanRequest& request);

// The operator's limits on one request.
struct CostLimits {
  int64_t max_pairs = 0;  // 0: no limit.
  int64_t max_bytes = 0;  // 0: no limit.
};

// Returns kResourceExhausted naming the flag if `cost` is beyond `limits`.
absl::Status CheckCost(const PlanCost& cost, const CostLimits& limits);

// Returns the cost in words: "34 layers in 34 atoms, ...: at most 1632 pairs,
// ...".
std::string Describe(const PlanCost& cost);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ESTIMATE_COST_H_
