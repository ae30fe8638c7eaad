#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEARCH_SPACE_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEARCH_SPACE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/bounds/slice_table.h"
#include "coordinator/bounds/work_bounds.h"
#include "coordinator/planners/constraints/resolve_constraints.h"
#include "coordinator/planners/tangram/pair_store.h"
#include "coordinator/planners/tangram/tangram_planner.h"

namespace tangram {

// Equal islands, of which one is asked for all.
struct IslandClass {
  std::vector<int> islands;
};

// What one planning request searches over: islands, atoms, slice classes and
// pipeline microbatch sizes, with the profiles that bound them. Immutable.
struct SearchSpace {
  std::vector<Island> islands;  // Their specs with the limits of `rules`.
  IslandRules rules;
  std::vector<IslandClass> island_classes;
  std::vector<int> class_of_island;
  std::vector<ModelSlice> atoms;
  std::vector<int> first_layer;  // Of each atom, and the model's end.
  SliceTable slices;
  std::vector<int> microbatch_sizes;  // Ascending.
  std::vector<WorkBounds> bounds;     // By microbatch size.
  // Slices by slice class, islands by island class; then the islands again, as
  // slices at the ends of the model see them, if rules make a difference.
  PairContext context;
  std::vector<std::string> notes;  // How the request was made smaller.

  int num_atoms() const { return slices.num_atoms(); }
  int num_islands() const { return static_cast<int>(islands.size()); }

  // Whether some slice of the class has a place in a pipeline that uses each
  // island at most once.
  bool HasPosition(int slice_class) const;
  // Whether constraints let atoms run on the island.
  bool Allows(AtomRange range, int island) const {
    return rules.Allows(first_layer[range.begin], first_layer[range.end],
                        island);
  }
  // Whether they do for some slice and island of the pair's classes.
  bool Allows(const PairId& pair) const;
  // Index into context.islands.
  int ContextIslandOf(const PairId& pair) const;
  // The fewest stages that must follow a slice of the class.
  int LeastTrailingStages(int slice_class) const;
  // Lower bounds of WorkBounds, for any slice and island of the pair's classes.
  double PairIterationSeconds(const PairId& pair) const;
  bool ExceedsMemory(const PairId& pair) const;
};

// The islands of the cluster without the nodes that are excluded, at most
// kMaxIslands. kInvalidArgument if there are none; kCancelled when
// `should_stop`, which may be empty, says so.
absl::StatusOr<IslandSet> IslandsOf(
    const PlanRequest& request, const TangramOptions& options,
    const std::function<bool()>& should_stop = nullptr);

// Islands, atoms, classes and profiles of `request`. Errors: kInvalidArgument
// for a bad request, and what `source` returns.
absl::StatusOr<SearchSpace> BuildSearchSpace(const PlanRequest& request,
                                             const TangramOptions& options,
                                             const PipelineRules& rules,
                                             SlicePlanSource& source,
                                             PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEARCH_SPACE_H_
