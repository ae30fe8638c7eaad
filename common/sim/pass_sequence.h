#ifndef TANGRAM_COMMON_SIM_PASS_SEQUENCE_H_
#define TANGRAM_COMMON_SIM_PASS_SEQUENCE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "common/domain/pipeline_schedule.h"

namespace tangram {

// A pipeline as far as the order of its passes goes. Stage i runs on device
// i mod num_devices.
struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::kOneFOneB;
  int num_devices = 1;
  int virtual_stages = 1;  // Stages on each device.
  int num_microbatches = 1;
  // By device; empty: those of the schedule (PipelinePlan::warm_up_passes).
  std::vector<int> warm_up_passes = {};

  int num_stages() const { return num_devices * virtual_stages; }
  // Whether the backward pass leaves weight gradients to a pass of their own.
  bool splits_backward() const {
    return schedule == PipelineSchedule::kZeroBubbleH1;
  }
};

enum class PassKind { kForward, kBackward, kWeightGradient };

struct Pass {
  PassKind kind = PassKind::kForward;
  int stage = 0;
  int microbatch = 0;
  bool operator==(const Pass&) const = default;
};

// The passes of one device, in the order in which it runs them. All schedules
// are one rule with three parameters:
//  - w, the forward passes of the warm-up, after which forward and backward
//    passes alternate. GPipe: all; 1F1B and ZB-H1: p − s − 1; interleaved:
//    2 (p − s − 1) + (v − 1) p. p devices, v chunks on each, device s.
//  - the order of chunks: p microbatches of one chunk, then the same of the
//    next, in the forward pass from the first chunk, in the backward pass from
//    the last.
//  - whether weight gradients are passes of their own; each then follows the
//    backward pass s microbatches later. So all devices hold up to p
//    microbatches, as the first one does under 1F1B.
// Papers: see PipelineSchedule.
class PassSequence {
 public:
  PassSequence(const PipelineShape& shape, int device);

  bool done() const { return done_; }
  // The next pass, unless done.
  Pass next() const {
    const Cursor& cursor = cursors_[static_cast<int>(kind_)];
    return {kind_, cursor.stage, static_cast<int>(cursor.microbatch)};
  }
  void Advance();

  // Passes of `kind` that have run.
  int64_t count(PassKind kind) const {
    return cursors_[static_cast<int>(kind)].count;
  }
  // Whether the sequence is where `earlier` was, but for the number of
  // microbatches that have run.
  bool RepeatsFrom(const PassSequence& earlier) const;
  // Advances `times` times by what was run since `earlier`. The caller knows
  // that no kind of pass comes to its end meanwhile.
  void Repeat(const PassSequence& earlier, int64_t times);

 private:
  // Goes over the passes of one kind, in groups of num_devices microbatches:
  // over the stages from first to last, and over the group in each.
  struct Cursor {
    int stage = 0;
    int64_t microbatch = 0;  // One past the last of all, at the end.
    int first_stage = 0;
    int last_stage = 0;
    int in_group = 0;
    int64_t count = 0;  // Passes so far.

    void Advance(int num_devices);
  };

  Cursor& cursor(PassKind kind) { return cursors_[static_cast<int>(kind)]; }
  void SetKind();

  int num_devices_;
  int64_t num_passes_;  // Of each kind.
  int warm_up_;
  int64_t max_delayed_;  // Weight gradients.
  std::array<Cursor, 3> cursors_;
  PassKind kind_ = PassKind::kForward;
  bool done_ = false;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_PASS_SEQUENCE_H_
