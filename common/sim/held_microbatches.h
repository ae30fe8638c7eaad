#ifndef TANGRAM_COMMON_SIM_HELD_MICROBATCHES_H_
#define TANGRAM_COMMON_SIM_HELD_MICROBATCHES_H_

#include <vector>

#include "absl/types/span.h"
#include "common/base/stop_poll.h"
#include "common/sim/pass_sequence.h"

namespace tangram {

// Returns for each stage the number of microbatches whose activations it holds
// when its device, over all its stages, holds the most bytes. A microbatch is
// held from its forward pass to the end of its last other pass, because weight
// gradients need nearly all of the kept inputs. `activation_bytes` is per
// stage, for one microbatch. The result depends only on the order of passes,
// not on their times. Under 1F1B it is min(p − s, B). The effort does not grow
// with the number of microbatches.
//
// Polls `poll` every few milliseconds. If it stops, the result is of no use.
std::vector<int> MicrobatchesHeldAtPeak(
    const PipelineShape& shape, absl::Span<const double> activation_bytes,
    StopPoll& poll);
std::vector<int> MicrobatchesHeldAtPeak(
    const PipelineShape& shape, absl::Span<const double> activation_bytes);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_HELD_MICROBATCHES_H_
