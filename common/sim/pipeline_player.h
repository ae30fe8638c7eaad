#ifndef TANGRAM_COMMON_SIM_PIPELINE_PLAYER_H_
#define TANGRAM_COMMON_SIM_PIPELINE_PLAYER_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "common/base/check.h"
#include "common/base/stop_poll.h"
#include "common/sim/arrival_queue.h"
#include "common/sim/pass_sequence.h"
#include "common/sim/play_pipeline.h"
#include "common/sim/timeline_recorder.h"

namespace tangram {

// Stops a pipeline between two microbatches. The first device starts at most
// `forward` forward passes, the last device at most `backward` backward passes.
struct PassGate {
  // No limit.
  static constexpr int64_t kOpen = std::numeric_limits<int64_t>::max();

  int64_t forward = kOpen;
  int64_t backward = kOpen;
};

// The state of a pipeline without its times.
struct PipelineProgress {
  struct Device {
    PassSequence passes;
    bool has_input = false;
    bool is_sending = false;
  };
  std::vector<Device> devices;
  std::vector<size_t> waiting_inputs;  // By channel.
};

// Plays a pipeline as PlayPipeline describes it. `Clock` supplies the types
// `Time` and `Duration`, of which Time{} and Duration{} are zero, and the
// functions
//   Duration FromSeconds(double), double ToSeconds(Time),
//   Time After(Time, Duration), Time Later(Time, Time).
// No time is made in any other way.
//
// The times do not depend on the order in which devices are visited, because
// each device runs its passes and sends their results in a fixed order. So one
// device is played until its next pass waits for an input that was not sent
// yet, and continues once it was.
template <typename Clock>
class PipelinePlayer {
 public:
  using Time = typename Clock::Time;
  using Duration = typename Clock::Duration;

  // `clock` must outlive the player. `timeline` may be null.
  PipelinePlayer(const PipelineShape& shape,
                 absl::Span<const StageTimes> stages, Clock& clock,
                 std::vector<TimelineEvent>* timeline)
      : shape_(shape),
        times_(stages),
        clock_(clock),
        activations_(stages.size()),
        gradients_(stages.size()),
        link_free_(2 * shape.num_devices),
        pair_free_(stages.size()),
        recorder_(shape, timeline) {
    devices_.reserve(shape.num_devices);
    for (int d = 0; d < shape.num_devices; ++d) devices_.emplace_back(shape, d);
    work_.reserve(stages.size());
    for (int s = 0; s < shape.num_stages(); ++s) {
      if (s + 1 < shape.num_stages()) Connect(s);
      work_.push_back({ForwardWork(s), BackwardWork(s), WeightGradientWork(s)});
    }
  }

  // Plays every pass that the gate and its inputs allow. After `poll` has
  // stopped, the player is of no further use.
  void PlayUpTo(const PassGate& gate, StopPoll& poll) {
    gate_ = gate;
    for (int d = shape_.num_devices - 1; d >= 0; --d) runnable_.push_back(d);
    while (!runnable_.empty() && !poll.stopped()) {
      const int device = runnable_.back();
      runnable_.pop_back();
      RunUntilItWaits(device, poll);
    }
  }

  // Plays gradient reduction and optimizer. All passes must have run.
  PipelineRun Finish() {
    PipelineRun run;
    for (const StageTimes& stage : times_) {
      run.busy_s.push_back(shape_.num_microbatches *
                           (stage.forward_s + stage.backward_s));
    }
    for (int d = 0; d < shape_.num_devices; ++d) {
      run.passes_end_s.push_back(clock_.ToSeconds(devices_[d].free));
      run.iteration_time_s =
          std::max(run.iteration_time_s, clock_.ToSeconds(FinishDevice(d)));
    }
    recorder_.Finish();
    return run;
  }

  // Calls `visit` with every time that later passes depend on, always in the
  // same order.
  template <typename Visit>
  void ForEachTime(Visit visit) {
    for (Device& device : devices_) {
      visit(device.pass_end);
      visit(device.free);
    }
    for (Time& time : link_free_) visit(time);
    for (Time& time : pair_free_) visit(time);
    for (Channel& channel : activations_) channel.times.ForEach(visit);
    for (Channel& channel : gradients_) channel.times.ForEach(visit);
  }

  PipelineProgress progress() const {
    PipelineProgress progress;
    for (const Device& device : devices_) {
      progress.devices.push_back(
          {device.passes, device.has_input, device.is_sending});
    }
    for (const Channel& channel : activations_) {
      progress.waiting_inputs.push_back(channel.times.size());
    }
    for (const Channel& channel : gradients_) {
      progress.waiting_inputs.push_back(channel.times.size());
    }
    return progress;
  }

  // Returns how often the passes since `earlier` can be repeated. 0: some
  // device is in another state than then, apart from the number of
  // microbatches.
  int64_t MaxRepeats(const PipelineProgress& earlier) const {
    const PipelineProgress now = progress();
    if (now.waiting_inputs != earlier.waiting_inputs) return 0;
    int64_t repeats = PassSequence::kForever;
    for (size_t d = 0; d < devices_.size(); ++d) {
      const PipelineProgress::Device& then = earlier.devices[d];
      if (now.devices[d].has_input != then.has_input ||
          now.devices[d].is_sending != then.is_sending) {
        return 0;
      }
      repeats =
          std::min(repeats, now.devices[d].passes.MaxRepeats(then.passes));
    }
    return repeats;
  }

  // Counts the passes since `earlier` another `times` times. Leaves the times
  // unchanged.
  void RepeatPasses(const PipelineProgress& earlier, int64_t times) {
    for (size_t d = 0; d < devices_.size(); ++d) {
      devices_[d].passes.Repeat(earlier.devices[d].passes, times);
    }
  }

 private:
  using Kind = TimelineEvent::Kind;

  // The messages from one stage to a neighbour, one for each microbatch.
  struct Channel {
    Kind kind = Kind::kSendForward;
    bool blocks = false;
    bool blocks_sender = false;
    Duration send = {};
    Time* link_free = nullptr;
    int from_stage = 0;
    int sender = 0;  // Devices.
    int receiver = 0;
    // Arrival times of waiting messages. If the channel blocks, the times at
    // which the sender was ready to send.
    ArrivalQueue<Time> times;
  };

  // Duration and channels of the passes of one kind on one stage.
  struct Work {
    Kind kind = Kind::kForward;
    Duration duration = {};
    Channel* input = nullptr;   // Null: waits for no input.
    Channel* output = nullptr;  // Null: no other pass waits for it.
  };

  struct Device {
    Device(const PipelineShape& shape, int device) : passes(shape, device) {}

    PassSequence passes;
    Time pass_end = {};  // End of the last pass.
    Time free = {};      // Latest of that and of the awaited transfers.
    // Empty channel that the next pass waits for.
    const Channel* awaited = nullptr;
    bool has_input = false;   // The next pass has its input.
    bool is_sending = false;  // In a transfer that blocks the sender.
  };

  // Makes the channels between stage `s` and the next.
  void Connect(int s) {
    const StageTimes& times = times_[s];
    const int here = s % shape_.num_devices;
    const int next = (s + 1) % shape_.num_devices;
    Channel& forward = activations_[s + 1];
    forward.kind = Kind::kSendForward;
    forward.send = clock_.FromSeconds(times.send_forward_s);
    forward.from_stage = s;
    forward.sender = here;
    forward.receiver = next;
    forward.link_free = &link_free_[2 * here];
    Channel& backward = gradients_[s];
    backward.kind = Kind::kSendBackward;
    backward.send = clock_.FromSeconds(times.send_backward_s);
    backward.from_stage = s + 1;
    backward.sender = next;
    backward.receiver = here;
    // With two devices, the next and the previous device are the same.
    backward.link_free =
        &link_free_[2 * next + (shape_.num_devices == 2 ? 0 : 1)];
    if (!times.send_blocks) return;
    forward.blocks = backward.blocks = true;
    if (times.send_is_buffered) return;
    forward.blocks_sender = backward.blocks_sender = true;
    forward.link_free = backward.link_free = &pair_free_[s];
  }

  Work ForwardWork(int s) {
    return {
        .kind = Kind::kForward,
        .duration = clock_.FromSeconds(times_[s].forward_s),
        .input = s > 0 ? &activations_[s] : nullptr,
        .output = s + 1 < shape_.num_stages() ? &activations_[s + 1] : nullptr};
  }

  Work BackwardWork(int s) {
    double duration_s = times_[s].backward_s;
    if (shape_.splits_backward()) duration_s -= times_[s].weight_gradient_s;
    return {.kind = Kind::kBackward,
            .duration = clock_.FromSeconds(duration_s),
            .input = s + 1 < shape_.num_stages() ? &gradients_[s] : nullptr,
            .output = s > 0 ? &gradients_[s - 1] : nullptr};
  }

  Work WeightGradientWork(int s) {
    return {.kind = Kind::kWeightGradient,
            .duration = clock_.FromSeconds(times_[s].weight_gradient_s)};
  }

  bool IsHeld(int d, PassKind kind) const {
    const int64_t count = devices_[d].passes.count(kind);
    return (kind == PassKind::kForward && d == 0 && count >= gate_.forward) ||
           (kind == PassKind::kBackward && d == shape_.num_devices - 1 &&
            count >= gate_.backward);
  }

  void RunUntilItWaits(int d, StopPoll& poll) {
    Device& device = devices_[d];
    for (; !device.passes.done(); device.passes.Advance()) {
      const Pass pass = device.passes.next();
      if (IsHeld(d, pass.kind) || poll.After(1)) return;
      const Work& work = work_[pass.stage][static_cast<int>(pass.kind)];
      if (work.input != nullptr && !device.has_input &&
          !TakeInput(*work.input, pass.microbatch, device)) {
        return;
      }
      if (device.is_sending) return;
      device.has_input = false;
      const Time start = device.free;
      device.free = device.pass_end = clock_.After(start, work.duration);
      Record(work.kind, pass.stage, pass.microbatch, start, device.free);
      if (work.output != nullptr) {
        Send(*work.output, pass.microbatch, device);
      }
    }
  }

  // Takes the next input. Returns false if it was not sent yet.
  bool TakeInput(Channel& input, int microbatch, Device& device) {
    if (input.times.empty()) {
      device.awaited = &input;
      return false;
    }
    const Time time = input.times.Pop();
    device.has_input = true;
    if (!input.blocks) {
      device.free = clock_.Later(device.free, time);
      return true;
    }
    const Time end =
        Transfer(input, microbatch, clock_.Later(time, device.pass_end));
    device.free = clock_.Later(device.free, end);
    if (!input.blocks_sender) return true;
    Device& sender = devices_[input.sender];
    sender.free = clock_.Later(sender.free, end);
    sender.is_sending = false;
    if (sender.awaited == nullptr) runnable_.push_back(input.sender);
    return true;
  }

  void Send(Channel& output, int microbatch, Device& device) {
    device.is_sending = output.blocks_sender;
    output.times.Push(output.blocks
                          ? device.pass_end
                          : Transfer(output, microbatch, device.pass_end));
    Device& receiver = devices_[output.receiver];
    if (receiver.awaited != &output) return;
    receiver.awaited = nullptr;
    runnable_.push_back(output.receiver);
  }

  // Plays one transfer on the channel's link. Returns its end.
  Time Transfer(const Channel& channel, int microbatch, Time ready) {
    const Time start = clock_.Later(*channel.link_free, ready);
    const Time end = clock_.After(start, channel.send);
    *channel.link_free = end;
    if (channel.send > Duration{}) {
      Record(channel.kind, channel.from_stage, microbatch, start, end);
    }
    return end;
  }

  // Plays gradient reduction, then the optimizer, of the device's stages in
  // turn. Returns the end.
  Time FinishDevice(int d) {
    TANGRAM_CHECK(devices_[d].passes.done());
    Time free = devices_[d].free;
    const auto once = [&](Kind kind, int s, double duration_s) {
      const Time start = free;
      free = clock_.After(free, clock_.FromSeconds(duration_s));
      if (duration_s > 0) Record(kind, s, /*m=*/-1, start, free);
    };
    for (int s = d; s < shape_.num_stages(); s += shape_.num_devices) {
      once(Kind::kGradientSync, s, times_[s].sync_s);
    }
    for (int s = d; s < shape_.num_stages(); s += shape_.num_devices) {
      once(Kind::kOptimizer, s, times_[s].optimizer_s);
    }
    return free;
  }

  void Record(Kind kind, int s, int m, Time start, Time end) {
    if (!recorder_.enabled()) return;
    recorder_.Record({.kind = kind,
                      .stage = s,
                      .microbatch = m,
                      .start_s = clock_.ToSeconds(start),
                      .end_s = clock_.ToSeconds(end)});
  }

  const PipelineShape shape_;
  const absl::Span<const StageTimes> times_;
  Clock& clock_;
  PassGate gate_;
  std::vector<Device> devices_;
  std::vector<std::array<Work, 3>> work_;  // By stage and PassKind.
  // Inputs of forward and of backward passes, by stage. Every stage takes the
  // microbatches in the order in which its neighbours send them.
  std::vector<Channel> activations_;
  std::vector<Channel> gradients_;
  std::vector<Time> link_free_;  // By device, then direction.
  // Times at which blocking transfers between two stages may start, by the
  // first stage of the pair.
  std::vector<Time> pair_free_;
  std::vector<int> runnable_;  // Devices.
  TimelineRecorder recorder_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_PIPELINE_PLAYER_H_
