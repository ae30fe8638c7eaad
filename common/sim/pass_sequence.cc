#include "common/sim/pass_sequence.h"

#include <algorithm>

namespace tangram {
namespace {

// Returns the forward passes of the warm-up, w of the class comment. A plan
// that sets counts includes the first forward pass after the warm-up, so one
// less.
int WarmUpOf(const PipelineShape& shape, int device) {
  if (!shape.warm_up_passes.empty()) return shape.warm_up_passes[device] - 1;
  const int behind = shape.num_devices - device - 1;
  switch (shape.schedule) {
    case PipelineSchedule::kGpipe:
      return shape.num_microbatches;
    case PipelineSchedule::kOneFOneB:
    case PipelineSchedule::kZeroBubbleH1:
      return behind;
    case PipelineSchedule::kInterleaved:
      return 2 * behind + (shape.virtual_stages - 1) * shape.num_devices;
  }
  return behind;
}

}  // namespace

PassSequence::PassSequence(const PipelineShape& shape, int device)
    : num_devices_(shape.num_devices),
      num_passes_(int64_t{shape.num_microbatches} * shape.virtual_stages),
      warm_up_(WarmUpOf(shape, device)),
      // Without separate weight gradients, the delay is unlimited.
      max_delayed_(shape.splits_backward() ? device : num_passes_) {
  const int last = shape.num_stages() - shape.num_devices + device;
  cursor(PassKind::kForward) = {
      .stage = device, .first_stage = device, .last_stage = last};
  cursor(PassKind::kBackward) = {
      .stage = last, .first_stage = last, .last_stage = device};
  cursor(PassKind::kWeightGradient) = cursor(PassKind::kBackward);
  if (!shape.splits_backward()) {
    cursor(PassKind::kWeightGradient).count = num_passes_;
  }
  SetKind();
}

void PassSequence::Advance() {
  cursor(kind_).Advance(num_devices_);
  SetKind();
}

bool PassSequence::IsLike(const PassSequence& earlier) const {
  if (kind_ != earlier.kind_ || done_ != earlier.done_) return false;
  for (size_t i = 0; i < cursors_.size(); ++i) {
    const Cursor& now = cursors_[i];
    const Cursor& then = earlier.cursors_[i];
    if (now.stage != then.stage) return false;
    // With one stage on the device, groups have no effect.
    if (now.first_stage != now.last_stage && now.in_group != then.in_group) {
      return false;
    }
  }
  return true;
}

// Let f, b and g be the forward passes, backward passes and weight gradients so
// far, and Δf, Δb, Δg those since `earlier`. SetKind compares f with b + w + 1,
// b − g with the delay, and f and b with the number of passes. The order stays
// while no comparison changes its result.
int64_t PassSequence::MaxRepeats(const PassSequence& earlier) const {
  if (!IsLike(earlier)) return 0;
  const auto passed = [&](PassKind kind) {
    return count(kind) - earlier.count(kind);
  };
  const int64_t forward = passed(PassKind::kForward);
  const int64_t backward = passed(PassKind::kBackward);
  const bool splits = count(PassKind::kWeightGradient) < num_passes_;
  if (splits && passed(PassKind::kWeightGradient) != backward) return 0;
  const auto repeats = [&](PassKind kind, int64_t last) {
    return std::max<int64_t>((last - 1 - count(kind)) / passed(kind), 0);
  };
  if (forward == 0 && backward == 0) return kForever;
  if (forward == backward) return repeats(PassKind::kForward, num_passes_);
  if (backward == 0) {  // Warm-up.
    const int64_t last = count(PassKind::kBackward) + warm_up_ + 1;
    return repeats(PassKind::kForward, std::min(num_passes_, last));
  }
  if (forward > 0 || count(PassKind::kForward) < num_passes_) return 0;
  return repeats(PassKind::kBackward, num_passes_);
}

void PassSequence::Repeat(const PassSequence& earlier, int64_t times) {
  for (size_t i = 0; i < cursors_.size(); ++i) {
    Cursor& now = cursors_[i];
    const Cursor& then = earlier.cursors_[i];
    now.count += times * (now.count - then.count);
    now.microbatch += times * (now.microbatch - then.microbatch);
  }
}

void PassSequence::Cursor::Advance(int num_devices) {
  ++count;
  ++microbatch;
  if (++in_group < num_devices) return;
  in_group = 0;
  if (stage == last_stage) {
    stage = first_stage;
    return;
  }
  stage += first_stage < last_stage ? num_devices : -num_devices;
  microbatch -= num_devices;
}

// Chooses the kind of the next pass. Overdue weight gradients come first. Then
// forward passes run until w + 1 of them are ahead of the backward passes, and
// then a backward pass. The remaining weight gradients end the sequence.
void PassSequence::SetKind() {
  const int64_t forward = cursor(PassKind::kForward).count;
  const int64_t backward = cursor(PassKind::kBackward).count;
  const int64_t weight_gradient = cursor(PassKind::kWeightGradient).count;
  if (backward - weight_gradient > max_delayed_) {
    kind_ = PassKind::kWeightGradient;
  } else if (forward < std::min(num_passes_, backward + warm_up_ + 1)) {
    kind_ = PassKind::kForward;
  } else if (backward < num_passes_) {
    kind_ = PassKind::kBackward;
  } else {
    kind_ = PassKind::kWeightGradient;
    done_ = weight_gradient == num_passes_;
  }
}

}  // namespace tangram
