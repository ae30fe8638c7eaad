#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_PLANNER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "absl/status/statusor.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/stage_limits.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/islands/build_islands.h"

namespace tangram {

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

// What the framework that is to run a plan asks of it, beside the request's own
// constraints.
struct PipelineRules {
  StageLimits stages;
  // Of the slices that hold the first or the last layer, besides.
  StageLimits ends;
  int gpus_per_node = 0;  // Of islands to be used; 0: any.
  // What is run of a plan that is asked for, or why none: whole plans are
  // scored as they will run. Empty: as they are.
  std::function<absl::StatusOr<PipelinePlan>(const PlanRequest&,
                                             const PipelinePlan&)>
      fit;
  // A closed form that is known to be reachable otherwise: nothing slower is
  // looked for.
  double incumbent_s = std::numeric_limits<double>::infinity();
};

// The paper's algorithm: islands, slices, pruned pairs, slice plans from
// `source`, composition. Constraints are kept where islands are made, where
// pairs are enumerated, in what `source` is asked and in composition; their
// runtime is the caller's, as `rules`. `source` must outlive the planner.
std::unique_ptr<ClusterPlanner> CreateTangramPlanner(
    SlicePlanSource& source, const TangramOptions& options,
    const PipelineRules& rules = {});

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_PLANNER_H_
