#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_AMP_AMP_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_AMP_AMP_SEARCH_H_

#include <functional>
#include <vector>

#include "coordinator/planners/rivals/amp/amp_input.h"

// The search of AMP (Li et al., "AMP: Automatically Finding Model Parallel
// Strategies with Heterogeneity Awareness", NeurIPS 2022): one tensor and data
// parallel degree for the whole cluster, one pipeline, and the best split of
// the layers for each of them. Placement is fixed. Pure.
namespace tangram {

struct AmpAnswer {
  std::vector<AmpPlan> plans;  // Fastest first; of equal ones the first tried.
  int tried = 0;               // Strategies with a partition.
  int over_memory = 0;         // Those without room; not in `plans`.
  // Strategies with more stages than layers; or blocks, if dealt out evenly.
  int too_deep = 0;
  double least_bytes_short = 0;  // The least among those.
  bool stopped = false;          // By should_stop; plans are then incomplete.
};

// Tries every tp degree that divides the GPUs of all nodes and is profiled for
// all types, every dp degree of the rest that divides the batch, and every
// microbatch that divides the replica's batch and is profiled, as
// AmpDefects::linear_in_samples takes it. `should_stop` is asked before each
// partition; empty: never stops.
AmpAnswer SearchAmp(const AmpInput& input, const AmpDefects& defects,
                    const std::function<bool()>& should_stop);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_AMP_AMP_SEARCH_H_
