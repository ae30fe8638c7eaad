#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_OPTIONS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_OPTIONS_H_

#include <cstdint>

#include "coordinator/islands/build_islands.h"

namespace tangram {

// The policies of the paper's §5.1 and §6.4. The first four drop only what
// cannot be part of the answer, so none of them changes the plan. The last
// trades quality for time: with fewer steps a parallelizer may find other slice
// plans (docs/results.md has what that costs).
struct PruningOptions {
  bool redundancy = true;
  bool imbalance = true;
  bool infeasibility = true;
  bool incompatibility = true;
  // Search effort in proportion to the slice's share of the model.
  bool early_stop = true;
};

// Twice as slow as the best is no finalist.
inline constexpr double kMaxFinalistSlack = 1;

struct TangramOptions {
  IslandTolerances tolerances;
  PruningOptions pruning;
  // Effort for a slice that is the whole model, in the parallelizer's steps.
  int64_t max_search_steps = 1024;
  // Whole plans within this fraction of the best closed-form time are scored
  // by the evaluator, which chooses among them. At most kMaxFinalistSlack.
  double finalist_slack = 0.03;
  // A set of islands is used only if it is faster than every smaller one by
  // this fraction: an island that brings less costs more than it is worth.
  double min_island_gain = 0.02;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_OPTIONS_H_
