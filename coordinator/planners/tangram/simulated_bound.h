#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SIMULATED_BOUND_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SIMULATED_BOUND_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/model_slice.h"

namespace tangram {

// Factor on bounds that allows for rounding: the simulator adds the same
// seconds in another order.
inline constexpr double kRounding = 1 - 1e-9;

// One slice plan at one position in the model, on one island, by the
// evaluator's own stage costs. t_s is the forward and backward pass of one
// microbatch in stage s of the slice, in seconds and without transfers.
struct BoundSlice {
  AtomRange atoms;
  int island = 0;
  double latency_s = 0;  // Σ t_s.
  // max_s (Σ_{i<s} t_i + B·t_s): see LeastIterationSeconds.
  double busiest_s = 0;
  // Gradient reduction and optimizer step of its first stage, paid once after
  // the last microbatch.
  double closing_s = 0;
};

// Returns the bound slice of stages with the times t_s in `stage_s`.
BoundSlice MakeBoundSlice(AtomRange atoms, int island,
                          absl::Span<const double> stage_s, double closing_s,
                          int num_microbatches);

// Returns a lower bound in seconds on the simulated iteration time of every
// 1F1B pipeline composed of `slices`. In such a pipeline stage s waits for the
// first microbatch to pass the stages before it and is busy with B
// microbatches. The last microbatch still passes back through those stages.
// With fill and drain
//
//   T ≥ max_s (Σ_{i<s} t_i + B·t_s) + closing of the first stage.
//
// Let V be that maximum over the stages of a tail. A slice in front of the tail
// gives max(busiest, latency + V). That is one number per state, so a dynamic
// program over (first atom covered, islands used) finds the least. Alike
// islands have the same slices and are used in their order. The bound ignores
// transfers, memory and limits on stages, which only lowers it. Beyond 2^10
// sets of islands it also ignores that an island holds only one slice.
//
// `first_alike`[island] is the first island that is alike; itself if there is
// none before it.
//
// Returns `limit_s` if the least is more. `should_stop` is polled; true gives
// kCancelled.
absl::StatusOr<double> LeastIterationSeconds(
    int num_atoms, absl::Span<const int> first_alike,
    absl::Span<const BoundSlice> slices, double limit_s,
    absl::FunctionRef<bool()> should_stop);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SIMULATED_BOUND_H_
