#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_PLANNER_H_

#include <cstdint>
#include <memory>

#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/islands/build_islands.h"

namespace tangram {

struct PipelineRules;

// Each policy of the paper's §5.1 can be switched off; none changes the plan.
struct PruningOptions {
  bool redundancy = true;
  bool imbalance = true;
  bool infeasibility = true;
  bool incompatibility = true;
  // Search effort in proportion to the slice's share of the model (§6.4).
  bool early_stop = true;
};

struct TangramOptions {
  IslandTolerances tolerances;
  PruningOptions pruning;
  // Effort for a slice that is the whole model, in the parallelizer's steps.
  int64_t max_search_steps = 1024;
  // Whole plans within this fraction of the best closed-form time are scored
  // by the evaluator, which chooses among them.
  double finalist_slack = 0.03;
  // A set of islands is used only if it is faster than every smaller one by
  // this fraction: an island that brings less costs more than it is worth.
  double min_island_gain = 0.02;
};

// The paper's algorithm: islands, slices, pruned pairs, slice plans from
// `source`, composition. Constraints are kept where islands are made, where
// pairs are enumerated, in what `source` is asked and in composition; their
// runtime is the caller's, as `rules`. `source` must outlive the planner.
std::unique_ptr<ClusterPlanner> CreateTangramPlanner(
    SlicePlanSource& source, const TangramOptions& options);
std::unique_ptr<ClusterPlanner> CreateTangramPlanner(
    SlicePlanSource& source, const TangramOptions& options,
    const PipelineRules& rules);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_PLANNER_H_
