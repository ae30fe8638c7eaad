#ifndef TANGRAM_COMMON_SIM_STEADY_PIPELINE_H_
#define TANGRAM_COMMON_SIM_STEADY_PIPELINE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "common/sim/pass_sequence.h"
#include "common/sim/play_pipeline.h"

namespace tangram {

// Returns what PlayPipeline returns without a timeline, in time that does not
// grow with the number of microbatches: plays the pipeline until it repeats
// itself, and skips the repetitions.
//
// Write x(n) for all times that later passes depend on, after n rounds (a round
// is one microbatch; with the interleaved schedule, as many as devices). A
// round makes each time the largest of some earlier times, each plus a sum of
// durations (a max-plus linear system): x(n+1) = M(x(n)). Let v = x(n) − x(n−c)
// for some c. The rounds n..n+c are played with x as a function of the number k
// of periods skipped: x(n) + k v. If every time again moves by its v, then
//   x(n + k c) = x(n) + k v
// for every k up to the horizon: the first k at which one of the terms that
// lost a maximum, but moves faster than the winner, overtakes it. Parts of the
// pipeline may move at different speeds; the horizon is where they meet.
//
// Times are integers: multiples of a power of two of a second so small that
// durations lose nothing. So repetition is an exact comparison, and nothing is
// rounded until the end.
//
// `rounds_played`, if given, is set to the number of rounds that were not
// skipped.
PipelineRun PlaySteadyPipeline(const PipelineShape& shape,
                               absl::Span<const StageTimes> stages,
                               int64_t* rounds_played = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_STEADY_PIPELINE_H_
