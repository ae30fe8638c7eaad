#ifndef TANGRAM_COMMON_SIM_ONE_F_ONE_B_H_
#define TANGRAM_COMMON_SIM_ONE_F_ONE_B_H_

#include <vector>

#include "absl/types/span.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/play_pipeline.h"

namespace tangram {

// Plays the 1F1B schedule with each stage on its own device.
PipelineRun RunOneFOneB(absl::Span<const StageTimes> stages,
                        int num_microbatches,
                        std::vector<TimelineEvent>* timeline = nullptr);

// The closed form (common/domain/closed_form.h) of architecture.md §4, which
// the composition minimises:
//   Σ t_s + (B − 1)·max t_s + exposed synchronisation,
// with t_s = forward + backward + both transfers to the next stage, and exposed
// = max_s (sync_s + optimizer_s − Σ_{i<s} backward_i)⁺. A stage that finishes
// early hides its synchronisation behind the cool-down of the stages before it.
//
// Compared with RunOneFOneB, according to property tests (not a proof), it is
// equal for equal stages without transfers. It is never less if all stages have
// the same backward : forward ratio. If ratios differ by up to 1.5 (some stages
// recompute), it is less by at most 1 %, because a stage may wait for a forward
// pass of its warm-up while a backward pass is ready. It is more by at most Σ
// t_s of the stages behind the slowest, plus the part of the transfers that
// overlaps with passes. If transfers block, a stage between two others pays for
// both boundaries, but the closed form counts one.
double ClosedFormIterationSeconds(absl::Span<const StageTimes> stages,
                                  int num_microbatches);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_ONE_F_ONE_B_H_
