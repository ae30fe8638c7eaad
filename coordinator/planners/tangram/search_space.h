#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEARCH_SPACE_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEARCH_SPACE_H_

#include <cstdint>
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

// Equal islands. One question is asked for all of them.
struct IslandClass {
  std::vector<int> islands;
};

// The search space of one planning request: islands, atoms, slice classes and
// pipeline microbatch sizes, with the profiles that bound them. Immutable.
struct SearchSpace {
  std::vector<Island> islands;  // Their specs hold the limits of `rules`.
  IslandRules rules;
  std::vector<IslandClass> island_classes;
  std::vector<int> class_of_island;
  // By island: the first that can change places with it in any pipeline, by the
  // cluster (FirstAlike) and by the rules. Itself if there is none before it.
  std::vector<int> first_alike;
  std::vector<ModelSlice> atoms;
  std::vector<int> first_layer;  // By atom, then the number of layers.
  SliceTable slices;
  std::vector<int> microbatch_sizes;  // Ascending.
  std::vector<WorkBounds> bounds;     // By microbatch size.
  // Slices by slice class and islands by island class. If the rules differ for
  // the ends of the model, the islands follow once more with those limits.
  PairContext context;
  bool merges_islands = false;  // Unlike islands were merged into one.
  std::vector<std::string>
      notes;  // For people: how the request was made smaller.
  // How the request was made smaller, each with the option that lifts it. A
  // plan may exist beyond.
  std::vector<std::string> limits;

  int num_atoms() const { return slices.num_atoms(); }
  int num_islands() const { return static_cast<int>(islands.size()); }

  // Returns the islands that are alike to an island, itself among them; a bit
  // each.
  uint32_t AlikeTo(int island) const;
  // Returns whether some slice of the class has a position in a pipeline that
  // uses each island at most once.
  bool HasPosition(int slice_class) const;
  // Returns whether constraints let the atoms run on the island.
  bool Allows(AtomRange range, int island) const {
    return rules.Allows(first_layer[range.begin], first_layer[range.end],
                        island);
  }
  // Returns whether they do for some slice and island of the pair's classes.
  bool Allows(const PairId& pair) const;
  // Returns the index into context.islands with which the pair is asked.
  int ContextIslandOf(const PairId& pair) const;
  // Returns the fewest stages that must follow a slice of the class.
  int LeastTrailingStages(int slice_class) const;
  // Return the lower bounds of WorkBounds, which hold for every slice and
  // island of the pair's classes.
  double PairIterationSeconds(const PairId& pair) const;
  bool ExceedsMemory(const PairId& pair) const;
};

// Returns the islands of the cluster without the excluded nodes, at most
// kMaxIslands. Errors: kInvalidArgument if there are none; kCancelled once
// `should_stop`, which may be empty, returns true.
absl::StatusOr<IslandSet> IslandsOf(
    const PlanRequest& request, const TangramOptions& options,
    const std::function<bool()>& should_stop = nullptr);

// Returns the islands, atoms, classes and profiles of `request`. Errors:
// kInvalidArgument for a bad request, kCancelled, and the errors of `source`.
absl::StatusOr<SearchSpace> BuildSearchSpace(const PlanRequest& request,
                                             const TangramOptions& options,
                                             const PipelineRules& rules,
                                             SlicePlanSource& source,
                                             PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEARCH_SPACE_H_
