#ifndef TANGRAM_COMMON_SIM_ONE_F_ONE_B_H_
#define TANGRAM_COMMON_SIM_ONE_F_ONE_B_H_

#include <vector>

#include "absl/types/span.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/play_pipeline.h"

namespace tangram {

// The 1F1B schedule, each stage on a device of its own.
PipelineRun RunOneFOneB(absl::Span<const StageTimes> stages,
                        int num_microbatches,
                        std::vector<TimelineEvent>* timeline = nullptr);

// The closed form (common/domain/closed_form.h) of architecture.md §4, which
// the composition minimises:
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
// Where transfers block, a stage between two others pays for both boundaries,
// of which the closed form counts one.
double ClosedFormIterationSeconds(absl::Span<const StageTimes> stages,
                                  int num_microbatches);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_ONE_F_ONE_B_H_
