#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SIMULATED_BOUND_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SIMULATED_BOUND_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/model_slice.h"

namespace tangram {

// One slice plan at one place in the model, on one island, by the evaluator's
// own stage costs: t_s is the forward and backward pass of one microbatch in
// stage s of the slice, without transfers.
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

// `stage_s`: t_s of each stage.
BoundSlice MakeBoundSlice(AtomRange atoms, int island,
                          absl::Span<const double> stage_s, double closing_s,
                          int num_microbatches);

// A lower bound on the simulated iteration time of every 1F1B pipeline that is
// composed of `slices`. In such a pipeline stage s waits for the first
// microbatch to pass the stages before it, is busy with B microbatches, and the
// last one still passes back through those stages, so with fill and drain
//
//   T ≥ max_s (Σ_{i<s} t_i + B·t_s) + closing of the first stage.
//
// From the back, with V the maximum over the stages of a tail, a slice in front
// of it gives max(busiest, latency + V): one number a state, so a dynamic
// program over (first atom covered, islands used) finds the least. Transfers,
// memory and limits on stages are left out, which only lowers it. Beyond 10
// islands it also leaves out that an island holds one slice only.
//
// `limit_s`: returned where the least is more. `should_stop` is polled; true
// gives kCancelled.
absl::StatusOr<double> LeastIterationSeconds(
    int num_atoms, int num_islands, absl::Span<const BoundSlice> slices,
    double limit_s, absl::FunctionRef<bool()> should_stop);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SIMULATED_BOUND_H_
