#ifndef TANGRAM_COMMON_SIM_HELD_MICROBATCHES_H_
#define TANGRAM_COMMON_SIM_HELD_MICROBATCHES_H_

#include <vector>

#include "absl/types/span.h"
#include "common/sim/pass_sequence.h"

namespace tangram {

// For each stage, the microbatches whose activations it holds when its device
// holds most bytes over all its stages. A microbatch is held from its forward
// pass to the end of its last other pass: the inputs that weight gradients need
// are nearly all that was kept. `activation_bytes`: of one microbatch, per
// stage. Depends on the order of passes alone, not on when they run; under 1F1B
// it is min(p − s, B). The effort does not grow with the microbatches.
std::vector<int> MicrobatchesHeldAtPeak(
    const PipelineShape& shape, absl::Span<const double> activation_bytes);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_HELD_MICROBATCHES_H_
