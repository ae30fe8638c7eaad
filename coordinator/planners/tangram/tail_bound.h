#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TAIL_BOUND_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TAIL_BOUND_H_

#include "common/sim/play_pipeline.h"

namespace tangram {

// Lower bounds in seconds on the simulated time of the last stages of a 1F1B
// pipeline. They need no stage in front of these. All are 0 without stages.
struct TailBound {
  // One microbatch through all stages, forward and back, with the transfers
  // between them. Exact if nothing waits.
  double round_trip_s = 0;
  // From the first input of the tail to the end of its last backward pass.
  double passes_s = 0;
  // The same, and to the end of gradient reduction and optimizer of all stages.
  double iteration_s = 0;
  int num_stages = 0;
};

// Returns the bound of `stage` in front of the stages of `rest`, for B
// microbatches. The transfers of `stage` are those to and from `rest`.
//
// Let the stage take f and b seconds for a pass forward and back, t = f + b,
// and x and y for the transfers to and from the next stage. With R the round
// trip behind the stage, transfers included, the stage has at most
//
//   n = min(stages of the tail, B)
//
// microbatches in flight: it runs n forward passes, then a backward and a
// forward pass in turn, then n backward passes. Its passes take at least the
// greatest of
//
//   max(n f, f + R) + (B − n) t + max(n b, R + b)        (B > n)
//   max(max(n f, f + R) + n b, n f + R + b)              (B = n)
//   q (t + R) + max(f + R + r b, r f + R + b),   B = q n + r, 1 ≤ r ≤ n
//   t + R + (B − 1) max(x, y)                            (a link carries all)
//   f + x + (passes of the rest) + y + b.
//
// The first two count the work of the stage. The third counts rounds: forward
// pass m + n waits for backward pass m, which waits for the round trip.
TailBound PrependStage(const StageTimes& stage, const TailBound& rest,
                       int num_microbatches);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TAIL_BOUND_H_
