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
// microbatches. Unless the plan sets its length, the warm-up takes less than 3
// · num_devices microbatches.
PipelineShape ShortestWithSamePeaks(PipelineShape shape) {
  int64_t enough = int64_t{4} * shape.num_devices;
  if (!shape.warm_up_passes.empty()) {
    enough = std::max(enough, int64_t{shape.warm_up_passes.front()} + 2);
  }
  shape.num_microbatches =
      static_cast<int>(std::min<int64_t>(shape.num_microbatches, enough));
  return shape;
}

// GPipe holds everything at the end of its forward passes. If microbatches have
// no bytes, the first one already reaches the peak.
std::vector<int> HeldUnderGpipe(int num_microbatches,
                                absl::Span<const double> activation_bytes) {
  std::vector<int> held;
  for (const double bytes : activation_bytes) {
    held.push_back(bytes > 0 ? num_microbatches
                             : std::min(num_microbatches, 1));
  }
  return held;
}

}  // namespace

std::vector<int> MicrobatchesHeldAtPeak(
    const PipelineShape& whole_shape,
    absl::Span<const double> activation_bytes) {
  if (whole_shape.schedule == PipelineSchedule::kGpipe) {
    return HeldUnderGpipe(whole_shape.num_microbatches, activation_bytes);
  }
  const PipelineShape shape = ShortestWithSamePeaks(whole_shape);
  std::vector<int> held_at_peak(shape.num_stages());
  for (int d = 0; d < shape.num_devices; ++d) {
    Held held(shape, d, activation_bytes);
    for (PassSequence passes(shape, d); !passes.done(); passes.Advance()) {
      held.Run(passes.next());
    }
    for (int chunk = 0; chunk < shape.virtual_stages; ++chunk) {
      held_at_peak[chunk * shape.num_devices + d] = held.at_peak()[chunk];
    }
  }
  return held_at_peak;
}

}  // namespace tangram
