#ifndef TANGRAM_COORDINATOR_COMPOSITION_PREFIX_BOUNDS_H_
#define TANGRAM_COORDINATOR_COMPOSITION_PREFIX_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "coordinator/composition/compose_pipeline.h"

namespace tangram {

// Lower bounds on what the atoms before a tail still cost on the islands that
// it leaves, from the candidates themselves. With w the work of a slice, let
//   κ_i = min slowest stage / w,   λ_i = min latency / w
// over all candidates of island i. Slices of the islands U that cover work W
// have a slowest stage of at least W / Σ_{i in U} 1/κ_i (island i takes at most
// T/κ_i of it without exceeding T), and a latency of at least W·min λ_i.
class PrefixBounds {
 public:
  // The bounds hold for any positive work of the atoms. Profiles that say
  // nothing have none: such atoms count as a sliver of the others, or as one
  // unit each.
  explicit PrefixBounds(const ComposeProblem& problem);

  // Of atoms [0, num_prefix) on the islands of `usable` (a bit each); infinite
  // if there are atoms and no island can take any.
  double SlowestSeconds(int num_prefix, uint32_t usable) const {
    return num_prefix == 0 ? 0 : work_[num_prefix] / capacity_[usable];
  }
  double LatencySeconds(int num_prefix, uint32_t usable) const {
    return num_prefix == 0 ? 0 : work_[num_prefix] * least_latency_[usable];
  }

 private:
  std::vector<double> work_;           // [end], prefix sums.
  std::vector<double> capacity_;       // [islands]: Σ 1/κ_i.
  std::vector<double> least_latency_;  // [islands]: min λ_i.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COMPOSITION_PREFIX_BOUNDS_H_
