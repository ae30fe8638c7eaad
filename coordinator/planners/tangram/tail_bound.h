#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TAIL_BOUND_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TAIL_BOUND_H_

#include <algorithm>
#include <array>

#include "common/sim/play_pipeline.h"

namespace tangram {

// Lower bounds in seconds on the simulated time of the last stages of a 1F1B
// pipeline. They need no stage in front of these. All are 0 without stages.
struct TailBound {
  // Windows of so many first stages are told apart.
  static constexpr int kMostInWindow = 6;

  // One microbatch through all stages, forward and back, with the transfers
  // between them. Exact if nothing waits.
  double round_trip_s = 0;
  // From the first input of the tail to the end of its last backward pass.
  double passes_s = 0;
  // The same, and to the end of gradient reduction and optimizer of all stages.
  double iteration_s = 0;
  int num_stages = 0;
  // [k − 1]: one microbatch through the first k stages, forward and back, with
  // the transfers between them.
  std::array<double, kMostInWindow> windows_s = {};
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
//
// A window of the first k stages has rounds of its own. Its last stage, with
// n − k + 1 microbatches in flight, runs backward pass m behind forward pass
// m + n − k. So forward pass j + k of the first stage begins W_k after forward
// pass j or later, with W_k the trip through the window. That makes, for B > n,
//
//   max(n f, f + R) + b + q W_k + r t + f + max(n b, R + b),
//
// with B − 1 − n = q k + r and r < k. For k = 1 it is the work of the stage.
TailBound PrependStage(const StageTimes& stage, const TailBound& rest,
                       int num_microbatches);

// Returns whether no bound of `a` is greater than that of `b`, which has as
// many stages. Then none is with the same stages in front of both: all terms of
// PrependStage rise with those of the rest.
inline bool IsNoGreater(const TailBound& a, const TailBound& b) {
  return a.round_trip_s <= b.round_trip_s && a.passes_s <= b.passes_s &&
         a.iteration_s <= b.iteration_s &&
         std::equal(a.windows_s.begin(), a.windows_s.end(), b.windows_s.begin(),
                    [](double x, double y) { return x <= y; });
}

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TAIL_BOUND_H_
