#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HARP_HARP_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HARP_HARP_PLANNER_H_

#include <memory>
#include <vector>

#include "common/planner/planner.h"
#include "coordinator/planners/registry/planner_registry.h"
#include "coordinator/planners/rivals/listed/recompute_choice.h"

namespace tangram {

struct HarpOptions {
  // Takes the clusters in one order, needs two of them, and lets stages warm up
  // with more microbatches than there are.
  bool upstream = false;
  bool reversed = false;  // With `upstream`: the last cluster comes first.
  // One for the whole model, the faster of these.
  std::vector<LayerRecompute> recompute = RecomputesToTry("auto");
  int max_samples = 16;  // Largest microbatch of a replica that is profiled.
};

// Returns a planner that proposes the plans of SearchHarp for all microbatch
// sizes and orders of the clusters, fastest first by its own estimate, on layer
// profiles of the cost model. Nodes of one type, size and group are a cluster.
std::unique_ptr<Planner> CreateHarpPlanner(const HarpOptions& options);

PlannerInfo HarpPlanner();

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HARP_HARP_PLANNER_H_
