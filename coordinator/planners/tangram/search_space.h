#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEARCH_SPACE_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEARCH_SPACE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/enumeration/slice_table.h"
#include "coordinator/enumeration/work_bounds.h"
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
  std::vector<Island> islands;
  std::vector<IslandClass> island_classes;
  std::vector<int> class_of_island;
  std::vector<ModelSlice> atoms;
  std::vector<int> first_layer;  // Of each atom, and the model's end.
  SliceTable slices;
  std::vector<int> microbatch_sizes;  // Ascending.
  std::vector<WorkBounds> bounds;     // By microbatch size.
  PairContext context;  // slices by slice class, islands by island class.

  int num_atoms() const { return slices.num_atoms(); }
  int num_islands() const { return static_cast<int>(islands.size()); }

  // Whether some slice of the class has a place in a pipeline that uses each
  // island at most once.
  bool HasPosition(int slice_class) const;
  // The fewest stages that must follow a slice of the class.
  int LeastTrailingStages(int slice_class) const;
  // Lower bounds of WorkBounds, for any slice and island of the pair's classes.
  double PairIterationSeconds(const PairId& pair) const;
  bool ExceedsMemory(const PairId& pair) const;
};

// Islands, atoms, classes and profiles of `request`. Errors: kInvalidArgument
// for a bad request, and what `source` returns.
absl::StatusOr<SearchSpace> BuildSearchSpace(const PlanRequest& request,
                                             const TangramOptions& options,
                                             SlicePlanSource& source,
                                             PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEARCH_SPACE_H_
