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
// Let x(n) be all times that later passes depend on, after n rounds. A round is
// one microbatch, or num_devices microbatches with the interleaved schedule. A
// round sets each time to the largest of some earlier times, each plus a sum of
// durations (a max-plus linear system): x(n+1) = M(x(n)). Let v = x(n) − x(n−c)
// for some c. The rounds n..n+c are played with x as a function of the number k
// of skipped periods: x(n) + k v. If every time again moves by its v, then
//   x(n + k c) = x(n) + k v
// for every k up to the horizon: the first k at which one of the terms that
// lost a maximum, but moves faster than the winner, overtakes it. Parts of the
// pipeline may move at different speeds. The horizon is where they meet.
//
// Times are integer multiples of a power of two of a second, so small that
// durations stay exact. So repetition is an exact comparison, and only the
// result is rounded.
//
// `rounds_played`, if given, is set to the number of rounds that were not
// skipped.
PipelineRun PlaySteadyPipeline(const PipelineShape& shape,
                               absl::Span<const StageTimes> stages,
                               int64_t* rounds_played = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_STEADY_PIPELINE_H_
