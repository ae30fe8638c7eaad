#ifndef TANGRAM_COMMON_SIM_ONE_F_ONE_B_H_
#define TANGRAM_COMMON_SIM_ONE_F_ONE_B_H_

#include <vector>

#include "absl/types/span.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {

// Durations of one stage for one microbatch, and once an iteration.
struct StageTimes {
  double forward_s = 0;
  double backward_s = 0;
  double send_forward_s = 0;   // Activations to the next stage; last: 0.
  double send_backward_s = 0;  // Gradients back from the next stage; last: 0.
  double sync_s = 0;           // After the last backward pass.
  double optimizer_s = 0;      // After sync.
};

struct PipelineRun {
  double iteration_time_s = 0;
  std::vector<double> busy_s;  // Per stage: forward + backward.
};

// Plays the schedule of PipeDream-flush (1F1B): stage s of p first runs
// min(p − s, B) forward passes, then alternates. A stage runs one pass at a
// time and takes them in that fixed order. A transfer starts when the sender
// has finished the pass and the link is free in that direction; the sender does
// not wait for it, the receiver does.
PipelineRun RunOneFOneB(absl::Span<const StageTimes> stages,
                        int num_microbatches,
                        std::vector<TimelineEvent>* timeline = nullptr);

// The closed form of architecture.md §4, which the composition minimises:
//   Σ t_s + (B − 1)·max t_s + exposed synchronisation,
// t_s = forward + backward + both transfers to the next stage, exposed =
// max_s (sync_s + optimizer_s − Σ_{i<s} backward_i)⁺: a stage that finishes
// early hides its synchronisation behind the cool-down of those before it.
//
// Against RunOneFOneB, as property tests (not a proof) have it: equal for equal
// stages without transfers. Never less where all stages have the same
// backward : forward ratio. Where ratios differ by up to 1.5 (some stages
// recompute), less by at most 1 %, since a stage may wait for a forward pass of
// its warm-up while a backward pass is ready. More by at most Σ t_s of the
// stages behind the slowest, and by what of the transfers overlaps with passes.
double ClosedFormIterationSeconds(absl::Span<const StageTimes> stages,
                                  int num_microbatches);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_ONE_F_ONE_B_H_
