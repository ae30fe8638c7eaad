#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_OPTIONS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_OPTIONS_H_

#include <cstdint>

#include "common/base/ordered_tasks.h"
#include "coordinator/islands/build_islands.h"
#include "coordinator/islands/split_islands.h"

namespace tangram {

class SharedStageTimes;

// Switches of the pruning policies of the paper's §5.1 and §6.4. The first four
// drop only pairs that cannot be part of the answer, so they never change the
// plan. The last trades quality for time: with fewer steps a parallelizer may
// find other slice plans (docs/results.md gives the cost).
struct PruningOptions {
  bool redundancy = true;       // Ask once for equal slices and islands.
  bool imbalance = true;        // Skip pairs slower than the best pipeline.
  bool infeasibility = true;    // Skip pairs that exceed the memory.
  bool incompatibility = true;  // Skip slices without a position.
  // Search effort in proportion to the slice's share of the model.
  bool early_stop = true;
};

// A pipeline twice as slow as the best is never a finalist.
inline constexpr double kMaxFinalistSlack = 1;

struct TangramOptions {
  IslandTolerances tolerances;
  // Divides the islands further. Empty: they stay whole.
  IslandSplit split;
  PruningOptions pruning;
  // Search steps of the parallelizer for a slice that is the whole model.
  int64_t max_search_steps = 1024;
  // Whole plans within this fraction of the best closed-form time are proposed
  // to the judge, which chooses among them. At most kMaxFinalistSlack.
  double finalist_slack = 0.03;
  // A set of islands is used only if it is faster than each of its subsets by
  // this fraction. An island that gains less costs more than it is worth.
  double min_island_gain = 0.02;
  // Moves borders and recomputation of the chosen plan where that makes it
  // faster (PolishPlan).
  bool polish = true;
  // Whether polishing also tries large changes (Reach::kFar).
  bool polishes_far = true;
  // The most pipelines that share the batch. Plans for a framework have one,
  // unless it trains several.
  int max_pipelines = 1;
  // Whether polishing that tries large changes tries other schedules than 1F1B
  // too (Reach::kSchedules).
  bool schedules = true;
  // Stage times that searches for allocations of one cluster share. Must
  // outlive the search. Null: it times all its stages. Never changes the plan.
  SharedStageTimes* shared_times = nullptr;
  // Runs parts of the search at the same time. Must outlive the search. Null:
  // all run one after the other. Never changes the plan. The source of slice
  // plans and the observer must be thread-safe.
  TaskRunner* tasks = nullptr;
};

// The most that max_pipelines may be.
inline constexpr int kMostPipelines = 16;

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_OPTIONS_H_
