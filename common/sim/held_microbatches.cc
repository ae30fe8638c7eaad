#include "common/sim/held_microbatches.h"

#include <algorithm>
#include <cstdint>

namespace tangram {
namespace {

// Counts the microbatches that one device holds, now and at its peak.
class Held {
 public:
  Held(const PipelineShape& shape, int device,
       absl::Span<const double> activation_bytes)
      : shape_(shape),
        device_(device),
        activation_bytes_(activation_bytes),
        now_(shape.virtual_stages),
        at_peak_(shape.virtual_stages) {}

  void Run(const Pass& pass) {
    const PassKind last = shape_.splits_backward() ? PassKind::kWeightGradient
                                                   : PassKind::kBackward;
    int& held = now_[pass.stage / shape_.num_devices];
    if (pass.kind == last) --held;
    if (pass.kind != PassKind::kForward) return;
    ++held;
    const double bytes = Bytes();
    if (bytes <= peak_bytes_) return;
    peak_bytes_ = bytes;
    at_peak_ = now_;
  }

  const std::vector<int>& at_peak() const { return at_peak_; }

 private:
  // Recomputed each time, so that equal microbatches give equal sums.
  double Bytes() const {
    double bytes = 0;
    for (int chunk = 0; chunk < shape_.virtual_stages; ++chunk) {
      bytes +=
          now_[chunk] * activation_bytes_[chunk * shape_.num_devices + device_];
    }
    return bytes;
  }

  const PipelineShape& shape_;
  const int device_;
  const absl::Span<const double> activation_bytes_;
  std::vector<int> now_;  // By chunk.
  std::vector<int> at_peak_;
  double peak_bytes_ = -1;
};

// Returns a shorter pipeline whose devices reach the same peaks. After its
// warm-up, a device holds the same again after each round of num_devices
// microbatches. The warm-up takes less than 3 · num_devices microbatches.
PipelineShape ShortestWithSamePeaks(PipelineShape shape) {
  shape.num_microbatches = static_cast<int>(std::min<int64_t>(
      shape.num_microbatches, int64_t{4} * shape.num_devices));
  return shape;
}

// With one stage on each device, and under GPipe, device d holds most when it
// is one forward pass past its warm-up of w and its weight gradients lag most:
// min(B, w + 1 + lag) microbatches. Under GPipe, w = B. The lag is d with
// ZB-H1, otherwise 0. If microbatches have no bytes, the first one already
// reaches the peak.
std::vector<int> HeldAfterWarmUp(const PipelineShape& shape,
                                 absl::Span<const double> activation_bytes) {
  std::vector<int> held;
  for (int s = 0; s < shape.num_stages(); ++s) {
    const int d = s % shape.num_devices;
    const int64_t lag = shape.splits_backward() ? d : 0;
    const int64_t most = activation_bytes[s] > 0
                             ? PassSequence(shape, d).warm_up() + 1 + lag
                             : 1;
    held.push_back(
        static_cast<int>(std::min<int64_t>(shape.num_microbatches, most)));
  }
  return held;
}

}  // namespace

std::vector<int> MicrobatchesHeldAtPeak(
    const PipelineShape& whole_shape, absl::Span<const double> activation_bytes,
    StopPoll& poll) {
  if (whole_shape.virtual_stages == 1 ||
      whole_shape.schedule == PipelineSchedule::kGpipe) {
    return HeldAfterWarmUp(whole_shape, activation_bytes);
  }
  const PipelineShape shape = ShortestWithSamePeaks(whole_shape);
  std::vector<int> held_at_peak(shape.num_stages());
  for (int d = 0; d < shape.num_devices; ++d) {
    Held held(shape, d, activation_bytes);
    for (PassSequence passes(shape, d); !passes.done(); passes.Advance()) {
      // A pass takes a step for each chunk.
      if (poll.After(shape.virtual_stages)) return held_at_peak;
      held.Run(passes.next());
    }
    for (int chunk = 0; chunk < shape.virtual_stages; ++chunk) {
      held_at_peak[chunk * shape.num_devices + d] = held.at_peak()[chunk];
    }
  }
  return held_at_peak;
}

std::vector<int> MicrobatchesHeldAtPeak(
    const PipelineShape& shape, absl::Span<const double> activation_bytes) {
  StopPoll never;
  return MicrobatchesHeldAtPeak(shape, activation_bytes, never);
}

}  // namespace tangram
