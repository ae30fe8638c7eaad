#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_SAILOR_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_SAILOR_PLANNER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/planner/planner.h"
#include "coordinator/planners/registry/planner_registry.h"
#include "coordinator/planners/rivals/listed/recompute_choice.h"
#include "coordinator/planners/rivals/sailor/sailor_request.h"

namespace tangram {

struct SailorOptions {
  sailor::Mode mode = sailor::Mode::kCorrected;
  // Plans of the second come only if none of the first fits.
  std::vector<LayerRecompute> recompute = RecomputesToTry("auto");
  int max_samples = 8;  // In a microbatch of one replica.
  int max_tp_degree = 8;
  int64_t max_search_steps = 10'000'000;  // For each way to recompute.
};

// Returns the planner of Sailor (SOSP 2025) for whole clusters. It profiles the
// layers with the cost model and ranks its plans by its own formulas. It has no
// prices, so it plans for speed alone. Thread-compatible.
std::unique_ptr<Planner> CreateSailorPlanner(const SailorOptions& options);

// Its entry in the list of planners.
PlannerInfo SailorPlanner();

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_SAILOR_PLANNER_H_
