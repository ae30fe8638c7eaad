#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_MEASURED_LATENCY_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_MEASURED_LATENCY_H_

#include <vector>

#include "coordinator/planners/tangram/pair_store.h"
#include "coordinator/planners/tangram/search_space.h"

namespace tangram {

// About the least time of a microbatch in the slices beside a pair, by the
// answers so far. For island i, let
//
//   λ_i = min latency / w,   κ_i = max w / slowest stage
//
// over its answered slice plans, with w the mean work (WorkBounds) of the
// slice. Without an answer, one stage on all GPUs at the rate of the profiles
// stands in, which bounds both. In a pipeline of at most T seconds with B
// microbatches, no stage takes longer than T/B, so island i holds at most work
// κ_i · T/B. The rest of the model then takes at least
//
//   min Σ_j λ_j x_j   with   Σ_j x_j = w(rest), 0 ≤ x_j ≤ κ_j · T/B,
//
// over the other islands j, which those with the least λ_j fill first.
//
// This is no proof: slices that were not asked may have a smaller λ. Immutable,
// so thread-compatible.
class MeasuredLatency {
 public:
  // `space` must outlive it.
  MeasuredLatency(const SearchSpace& space, const PairStore& store);

  // Returns that sum in seconds, for T = `pipeline_s`.
  double RestSeconds(const PairId& pair, double pipeline_s) const;

 private:
  // An island class.
  struct Rate {
    int island_class = 0;
    double latency_s = 0;      // λ, per unit of work.
    double work_a_second = 0;  // κ
  };

  const SearchSpace* space_;              // Not owned.
  std::vector<std::vector<Rate>> rates_;  // By microbatch size, ascending λ.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_MEASURED_LATENCY_H_
