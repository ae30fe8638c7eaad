#ifndef TANGRAM_COORDINATOR_COMPOSITION_PREFIX_BOUNDS_H_
#define TANGRAM_COORDINATOR_COMPOSITION_PREFIX_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "coordinator/composition/compose_pipeline.h"
#include "coordinator/composition/island_kinds.h"
#include "coordinator/composition/problem_ranges.h"

namespace tangram {

// Lower bounds on the time of the atoms before a tail, on the islands that the
// tail does not use. They follow from the candidates. With w the work of a
// slice, let
//
//   κ_i = min slowest stage / w,    λ_i = min latency / w,
//   β_i = min backward passes / w,  φ_i = min (latency − backward passes) / w
//
// over all candidates of island i. For slices on islands U that cover work W:
//
//   slowest stage ≥ W / Σ_{i in U} 1/κ_i,   latency ≥ W · min_{i in U} λ_i,
//
// and the same with β and φ as with λ. The first holds because island i takes
// at most work T/κ_i if none of its stages takes longer than T.
class PrefixBounds {
 public:
  // The bounds hold for any positive work of the atoms. Atoms without work,
  // whose profiles have no measurements, get kSliver of the total, or 1 if all
  // are without. `leasts` and `kinds` are those of the problem; `kinds` must
  // outlive this object.
  PrefixBounds(const ComposeProblem& problem,
               absl::Span<const LeastOfPair> leasts, const IslandKinds& kinds);

  // Return bounds in seconds for atoms [0, num_prefix) on the islands of
  // `usable` (a bit each): on the slowest stage, the sum of stages, their
  // backward passes, and the rest of the sum. Infinite if there are atoms and
  // no island can take any.
  double SlowestSeconds(int num_prefix, uint32_t usable) const {
    return num_prefix == 0
               ? 0
               : work_[num_prefix] / capacity_[kinds_.SetOf(usable)];
  }
  double LatencySeconds(int num_prefix, uint32_t usable) const {
    return num_prefix == 0
               ? 0
               : work_[num_prefix] * least_latency_[kinds_.SetOf(usable)];
  }
  double BackwardSeconds(int num_prefix, uint32_t usable) const {
    return num_prefix == 0
               ? 0
               : work_[num_prefix] * least_backward_[kinds_.SetOf(usable)];
  }
  double ForwardSeconds(int num_prefix, uint32_t usable) const {
    return num_prefix == 0
               ? 0
               : work_[num_prefix] * least_forward_[kinds_.SetOf(usable)];
  }

 private:
  const IslandKinds& kinds_;
  std::vector<double> work_;            // [end]: sum over atoms [0, end).
  std::vector<double> capacity_;        // [set of IslandKinds]: Σ 1/κ_i.
  std::vector<double> least_latency_;   // [set]: min λ_i.
  std::vector<double> least_backward_;  // [set]: min β_i.
  std::vector<double> least_forward_;   // [set]: min φ_i.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COMPOSITION_PREFIX_BOUNDS_H_
