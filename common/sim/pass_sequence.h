#ifndef TANGRAM_COMMON_SIM_PASS_SEQUENCE_H_
#define TANGRAM_COMMON_SIM_PASS_SEQUENCE_H_

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/domain/pipeline_schedule.h"

namespace tangram {

// The properties of a pipeline that fix the order of its passes. Stage i runs
// on device i mod num_devices.
struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::kOneFOneB;
  int num_devices = 1;
  int virtual_stages = 1;  // Stages on each device.
  int num_microbatches = 1;
  // By device. Empty: the counts of the schedule
  // (PipelinePlan::warm_up_passes).
  std::vector<int> warm_up_passes = {};

  int num_stages() const { return num_devices * virtual_stages; }
  // Whether weight gradients are computed in separate passes.
  bool splits_backward() const {
    return schedule == PipelineSchedule::kZeroBubbleH1;
  }
};

enum class PassKind {
  kForward,
  kBackward,       // Without weight gradients if these have their own passes.
  kWeightGradient  // Only with ZB-H1.
};

struct Pass {
  PassKind kind = PassKind::kForward;
  int stage = 0;
  int microbatch = 0;
  bool operator==(const Pass&) const = default;
};

// The passes of one device, in the order in which it runs them. All schedules
// are one rule with three parameters:
//  - w, the number of forward passes in the warm-up. After it, forward and
//    backward passes alternate. GPipe: all; 1F1B and ZB-H1: p − s − 1;
//    interleaved: 2 (p − s − 1) + (v − 1) p. Here p is the number of devices,
//    v the chunks on each, s the device.
//  - the order of chunks: p microbatches of one chunk, then the same of the
//    next. Forward passes start at the first chunk, backward passes at the
//    last.
//  - whether weight gradients are passes of their own. Each then follows its
//    backward pass s microbatches later. So all devices hold up to p
//    microbatches, as the first device does under 1F1B.
// Papers: see PipelineSchedule.
class PassSequence {
 public:
  PassSequence(const PipelineShape& shape, int device);

  bool done() const { return done_; }
  // Returns the next pass. The sequence must not be done.
  Pass next() const {
    const Cursor& cursor = cursors_[static_cast<int>(kind_)];
    return {kind_, cursor.stage, static_cast<int>(cursor.microbatch)};
  }
  void Advance();

  // Forward passes of the warm-up.
  int64_t warm_up() const { return warm_up_; }
  // Passes of `kind` that have run.
  int64_t count(PassKind kind) const {
    return cursors_[static_cast<int>(kind)].count;
  }
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

  // Returns how often the sequence continues with the passes run since
  // `earlier`, in their order, for later microbatches. The last passes of the
  // warm-up and of the sequence are not counted. 0: the order changes.
  // kForever: no passes.
  int64_t MaxRepeats(const PassSequence& earlier) const;
  // Advances `times` times, at most MaxRepeats, by the passes run since
  // `earlier`.
  void Repeat(const PassSequence& earlier, int64_t times);

 private:
  // Iterates over the passes of one kind in groups of num_devices microbatches.
  // For each group it visits the stages from first to last, and in each stage
  // the microbatches of the group.
  struct Cursor {
    int stage = 0;
    int64_t microbatch = 0;  // At the end, one past the last.
    int first_stage = 0;
    int last_stage = 0;
    int in_group = 0;
    int64_t count = 0;  // Passes so far.

    void Advance(int num_devices);
  };

  Cursor& cursor(PassKind kind) { return cursors_[static_cast<int>(kind)]; }
  void SetKind();
  // Returns whether the state equals that of `earlier`, apart from the number
  // of microbatches that have run.
  bool IsLike(const PassSequence& earlier) const;

  int num_devices_;
  int64_t num_passes_;  // Per kind.
  int warm_up_;
  int64_t max_delayed_;  // Weight gradients that may lag behind.
  std::array<Cursor, 3> cursors_;
  PassKind kind_ = PassKind::kForward;
  bool done_ = false;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_PASS_SEQUENCE_H_
