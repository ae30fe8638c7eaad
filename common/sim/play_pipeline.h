#ifndef TANGRAM_COMMON_SIM_PLAY_PIPELINE_H_
#define TANGRAM_COMMON_SIM_PLAY_PIPELINE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
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
  // Receivers stand still during the transfers between this and the next, and
  // senders too, unless what they send is buffered.
  bool send_blocks = false;
  bool send_is_buffered = false;
  double sync_s = 0;       // After the last pass of the device.
  double optimizer_s = 0;  // After sync.
};

// With at most this many microbatches, every pass is played; a longer pipeline
// is played until it repeats itself (PlaySteadyPipeline). Both give the same
// but for rounding. The limit is above the batches in use, whose figures are
// those of the played passes to the last bit.
inline constexpr int kMaxPlayedMicrobatches = 1 << 14;

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
// pass and its link to that neighbour is free in that direction; the sender
// does not wait for it, the receiver does. A transfer that blocks starts when
// the sender has finished the pass and the receiver the one before the pass
// that needs it, after any other between the two, and both wait for its end;
// where sends are buffered, the receiver alone, and the two directions do not
// wait for each other.
// `stages` has shape.num_stages() elements, and the order must not make devices
// wait for each other in a ring: with the interleaved schedule, the
// microbatches are a multiple of the devices; transfers block under 1F1B and
// GPipe alone.
// `timeline`, if given, is left empty if it could pass kMaxTimelineEvents.
PipelineRun PlayPipeline(const PipelineShape& shape,
                         absl::Span<const StageTimes> stages,
                         std::vector<TimelineEvent>* timeline = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_PLAY_PIPELINE_H_
