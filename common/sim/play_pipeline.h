#ifndef TANGRAM_COMMON_SIM_PLAY_PIPELINE_H_
#define TANGRAM_COMMON_SIM_PLAY_PIPELINE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/stop_poll.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/pass_sequence.h"

namespace tangram {

// Durations of one stage for one microbatch, and once an iteration.
struct StageTimes {
  double forward_s = 0;
  double backward_s = 0;
  double weight_gradient_s = 0;  // Its share of backward_s.
  double send_forward_s = 0;     // Activations to the next stage; last: 0.
  double send_backward_s = 0;    // Gradients back from the next stage; last: 0.
  // Transfers between this stage and the next stall the receiver. They also
  // stall the sender unless sends are buffered.
  bool send_blocks = false;
  bool send_is_buffered = false;
  double sync_s = 0;       // After the last pass of the device.
  double optimizer_s = 0;  // After sync.
};

// Every pass is played if there are at most this many microbatches, and at most
// this many forward passes of all stages (20 ms). Most rounds of a longer
// pipeline are skipped (PlaySteadyPipeline). The results differ only by
// rounding. The limits exceed the batches in use, so their figures are exactly
// those of the played passes.
inline constexpr int kMaxPlayedMicrobatches = 1 << 14;
inline constexpr int64_t kMaxPlayedPasses = 1 << 20;

// A timeline has at most this many events, 64 MB of them.
inline constexpr int64_t kMaxTimelineEvents = 1 << 21;

struct PipelineRun {
  double iteration_time_s = 0;
  std::vector<double> busy_s;  // Per stage: forward + backward.
  // Per device: the end of its last pass, before synchronisation.
  std::vector<double> passes_end_s;
};

// Plays the passes of every device in the order of its PassSequence. A device
// runs one pass at a time. A transfer starts when the sender has finished the
// pass and its link to that neighbour is free in that direction. Only the
// receiver waits for the transfer. A blocking transfer starts when the sender
// has finished the pass and the receiver is ready for the pass that needs it,
// after any other transfer between the two. Both wait for its end. With
// buffered sends, only the receiver waits, and the two directions do not wait
// for each other. `stages` has shape.num_stages() elements. The order must not
// make devices wait for each other in a ring: the interleaved schedule needs a
// multiple of num_devices microbatches, and transfers may block only under 1F1B
// and GPipe. `timeline`, if given, is left empty if it could pass
// kMaxTimelineEvents.
//
// Polls `poll` every few milliseconds. If it stops, the result is of no use.
PipelineRun PlayPipeline(const PipelineShape& shape,
                         absl::Span<const StageTimes> stages,
                         std::vector<TimelineEvent>* timeline, StopPoll& poll);
// As above, to the end.
PipelineRun PlayPipeline(const PipelineShape& shape,
                         absl::Span<const StageTimes> stages,
                         std::vector<TimelineEvent>* timeline = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_PLAY_PIPELINE_H_
