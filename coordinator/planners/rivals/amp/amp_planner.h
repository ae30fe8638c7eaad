#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_AMP_AMP_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_AMP_AMP_PLANNER_H_

#include <memory>
#include <vector>

#include "common/planner/planner.h"
#include "coordinator/planners/registry/planner_registry.h"
#include "coordinator/planners/rivals/listed/recompute_choice.h"

namespace tangram {

struct AmpOptions {
  bool upstream = false;  // With AmpDefects::Upstream.
  // AMP knows no recomputation; its plans come in this order.
  std::vector<LayerRecompute> recompute = RecomputesToTry("auto");
  int max_samples = 16;  // Largest microbatch of a replica that is profiled.
};

// Returns a planner that proposes the plans of SearchAmp, fastest first by its
// own estimate, on layer profiles of the cost model.
std::unique_ptr<Planner> CreateAmpPlanner(const AmpOptions& options);

PlannerInfo AmpPlanner();

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_AMP_AMP_PLANNER_H_
