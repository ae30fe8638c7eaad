#ifndef TANGRAM_COMMON_SIM_STEADY_PIPELINE_H_
#define TANGRAM_COMMON_SIM_STEADY_PIPELINE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "common/base/stop_poll.h"
#include "common/sim/pass_sequence.h"
#include "common/sim/play_pipeline.h"

namespace tangram {

// Returns what PlayPipeline returns without a timeline, in time that does not
// grow with the number of microbatches: plays the pipeline until it repeats
// itself, and skips the repetitions.
//
// A round is one microbatch, or num_devices microbatches with the interleaved
// schedule. Once every device runs the same passes in each round, a round sets
// every time to the largest of some earlier times, each plus a sum of durations
// (a max-plus linear map). This map is recorded as a program, which runs many
// times faster than the passes are played. RepeatProgram runs it and skips the
// rounds that repeat.
//
// Times are integer multiples of a power of two of a second. Each duration is
// rounded once, by at most 2^-47 of the longest. Sums and comparisons are
// exact, so repetition is an exact comparison.
//
// A round of more than 2^18 forward passes is not recorded. Such a pipeline, of
// more than 256 devices with four chunks each, is played to its end.
//
// Polls `poll` every few milliseconds. If it stops, the result is of no use.
// `rounds_played`, if given, is set to the number of rounds that were not
// skipped.
PipelineRun PlaySteadyPipeline(const PipelineShape& shape,
                               absl::Span<const StageTimes> stages,
                               StopPoll& poll,
                               int64_t* rounds_played = nullptr);
PipelineRun PlaySteadyPipeline(const PipelineShape& shape,
                               absl::Span<const StageTimes> stages,
                               int64_t* rounds_played = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_STEADY_PIPELINE_H_
