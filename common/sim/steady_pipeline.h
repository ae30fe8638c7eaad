#ifndef TANGRAM_COMMON_SIM_STEADY_PIPELINE_H_
#define TANGRAM_COMMON_SIM_STEADY_PIPELINE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "common/base/stop_poll.h"
#include "common/sim/pass_sequence.h"
#include "common/sim/play_pipeline.h"

namespace tangram {

// Returns what PlayPipeline returns without a timeline, in time that does not
// grow with the number of microbatches.
//
// A round is one microbatch, or num_devices microbatches with the interleaved
// schedule. Once every device runs the same passes in each round, a round sets
// every time to the largest of some earlier times, each plus a sum of durations
// (a max-plus linear map). This map is recorded as a program. RepeatProgram
// finds the times after any number of rounds.
//
// Times are integer multiples of a power of two of a second. Each duration is
// rounded once, by at most 2^-43 of the longest. Sums and comparisons are
// exact.
//
// A round of more than 2^18 forward passes is not recorded. Such a pipeline, of
// more than 256 devices with four chunks each, is played to its end.
//
// Polls `poll` every few milliseconds. If it stops, the result is of no use.
// `rounds_played`, if given, is set to the number of rounds that were played
// and of runs of their program.
PipelineRun PlaySteadyPipeline(const PipelineShape& shape,
                               absl::Span<const StageTimes> stages,
                               StopPoll& poll,
                               int64_t* rounds_played = nullptr);
PipelineRun PlaySteadyPipeline(const PipelineShape& shape,
                               absl::Span<const StageTimes> stages,
                               int64_t* rounds_played = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_STEADY_PIPELINE_H_
