#include "common/sim/play_pipeline.h"

#include <algorithm>
#include <array>

#include "common/base/check.h"
#include "common/sim/arrival_queue.h"
#include "common/sim/timeline_recorder.h"

namespace tangram {
namespace {

using Kind = TimelineEvent::Kind;

// What one stage sends another, microbatch after microbatch.
struct Channel {
  Kind kind = Kind::kSendForward;
  bool blocks = false;
  bool blocks_sender = false;
  double send_s = 0;
  double* link_free_s = nullptr;
  int from_stage = 0;
  int sender = 0;  // Devices.
  int receiver = 0;
  // When it arrives; if it blocks, when the sender was ready to send it.
  ArrivalQueue times;
};

// What a pass of one kind does on one stage, whatever the microbatch.
struct Work {
  Kind kind = Kind::kForward;
  double duration_s = 0;
  Channel* input = nullptr;   // Null: it waits for none.
  Channel* output = nullptr;  // Null: no other waits for it.
};

// When passes run does not depend on the order in which devices are looked at,
// since each has its passes in a fixed order and sends what they make in that
// order. So one device is played until its next pass waits for something that
// no one has sent yet, and again once that is there.
class Player {
 public:
  Player(const PipelineShape& shape, absl::Span<const StageTimes> stages,
         std::vector<TimelineEvent>* timeline)
      : shape_(shape),
        times_(stages),
        activations_(stages.size()),
        gradients_(stages.size()),
        link_free_s_(2 * shape.num_devices),
        pair_free_s_(stages.size()),
        recorder_(shape, timeline) {
    devices_.reserve(shape.num_devices);
    for (int d = 0; d < shape.num_devices; ++d) devices_.emplace_back(shape, d);
    work_.reserve(stages.size());
    for (int s = 0; s < shape.num_stages(); ++s) {
      if (s + 1 < shape.num_stages()) Connect(s);
      work_.push_back({ForwardWork(s), BackwardWork(s), WeightGradientWork(s)});
    }
  }

  PipelineRun Play() {
    for (int d = shape_.num_devices - 1; d >= 0; --d) runnable_.push_back(d);
    while (!runnable_.empty()) {
      Device& device = devices_[runnable_.back()];
      runnable_.pop_back();
      RunUntilItWaits(device);
    }
    PipelineRun run;
    for (const StageTimes& stage : times_) {
      run.busy_s.push_back(shape_.num_microbatches *
                           (stage.forward_s + stage.backward_s));
    }
    for (int d = 0; d < shape_.num_devices; ++d) {
      run.iteration_time_s = std::max(run.iteration_time_s, Finish(d));
    }
    recorder_.Finish();
    return run;
  }

 private:
  struct Device {
    Device(const PipelineShape& shape, int device) : passes(shape, device) {}

    PassSequence passes;
    double pass_end_s = 0;             // Of the last pass.
    double free_s = 0;                 // And of the transfers it waits for.
    const Channel* awaited = nullptr;  // What it waits for.
    bool has_input = false;            // Of the next pass.
    bool is_sending = false;           // By a transfer that blocks.
  };

  // The channels between stage `s` and the next.
  void Connect(int s) {
    const StageTimes& times = times_[s];
    const int here = s % shape_.num_devices;
    const int next = (s + 1) % shape_.num_devices;
    Channel& forward = activations_[s + 1];
    forward.kind = Kind::kSendForward;
    forward.send_s = times.send_forward_s;
    forward.from_stage = s;
    forward.sender = here;
    forward.receiver = next;
    forward.link_free_s = &link_free_s_[2 * here];
    Channel& backward = gradients_[s];
    backward.kind = Kind::kSendBackward;
    backward.send_s = times.send_backward_s;
    backward.from_stage = s + 1;
    backward.sender = next;
    backward.receiver = here;
    // Of two devices, the next and the previous one are the same.
    backward.link_free_s =
        &link_free_s_[2 * next + (shape_.num_devices == 2 ? 0 : 1)];
    if (!times.send_blocks) return;
    forward.blocks = backward.blocks = true;
    if (times.send_is_buffered) return;
    forward.blocks_sender = backward.blocks_sender = true;
    forward.link_free_s = backward.link_free_s = &pair_free_s_[s];
  }

  Work ForwardWork(int s) {
    return {
        .kind = Kind::kForward,
        .duration_s = times_[s].forward_s,
        .input = s > 0 ? &activations_[s] : nullptr,
        .output = s + 1 < shape_.num_stages() ? &activations_[s + 1] : nullptr};
  }

  Work BackwardWork(int s) {
    Work work = {
        .kind = Kind::kBackward,
        .duration_s = times_[s].backward_s,
        .input = s + 1 < shape_.num_stages() ? &gradients_[s] : nullptr,
        .output = s > 0 ? &gradients_[s - 1] : nullptr};
    if (shape_.splits_backward()) {
      work.duration_s -= times_[s].weight_gradient_s;
    }
    return work;
  }

  Work WeightGradientWork(int s) const {
    return {.kind = Kind::kWeightGradient,
            .duration_s = times_[s].weight_gradient_s};
  }

  void RunUntilItWaits(Device& device) {
    for (; !device.passes.done(); device.passes.Advance()) {
      const Pass pass = device.passes.next();
      const Work& work = work_[pass.stage][static_cast<int>(pass.kind)];
      if (work.input != nullptr && !device.has_input &&
          !TakeInput(*work.input, pass.microbatch, device)) {
        return;
      }
      if (device.is_sending) return;
      device.has_input = false;
      const double start_s = device.free_s;
      device.free_s = device.pass_end_s = start_s + work.duration_s;
      Record(work.kind, pass.stage, pass.microbatch, start_s, device.free_s);
      if (work.output != nullptr) {
        Send(*work.output, pass.microbatch, device);
      }
    }
  }

  // False: it is not there yet.
  bool TakeInput(Channel& input, int microbatch, Device& device) {
    if (input.times.empty()) {
      device.awaited = &input;
      return false;
    }
    const double time_s = input.times.Pop();
    device.has_input = true;
    if (!input.blocks) {
      device.free_s = std::max(device.free_s, time_s);
      return true;
    }
    const double end_s =
        Transfer(input, microbatch, std::max(time_s, device.pass_end_s));
    device.free_s = std::max(device.free_s, end_s);
    if (!input.blocks_sender) return true;
    Device& sender = devices_[input.sender];
    sender.free_s = std::max(sender.free_s, end_s);
    sender.is_sending = false;
    if (sender.awaited == nullptr) runnable_.push_back(input.sender);
    return true;
  }

  void Send(Channel& output, int microbatch, Device& device) {
    device.is_sending = output.blocks_sender;
    output.times.Push(output.blocks
                          ? device.pass_end_s
                          : Transfer(output, microbatch, device.pass_end_s));
    Device& receiver = devices_[output.receiver];
    if (receiver.awaited != &output) return;
    receiver.awaited = nullptr;
    runnable_.push_back(output.receiver);
  }

  // Returns when it ends.
  double Transfer(const Channel& channel, int microbatch, double ready_s) {
    const double start_s = std::max(*channel.link_free_s, ready_s);
    const double end_s = start_s + channel.send_s;
    *channel.link_free_s = end_s;
    if (channel.send_s > 0) {
      Record(channel.kind, channel.from_stage, microbatch, start_s, end_s);
    }
    return end_s;
  }

  // Gradient reduction and optimizer of one stage after the other. Returns
  // when the device is done.
  double Finish(int d) {
    TANGRAM_CHECK(devices_[d].passes.done());
    double free_s = devices_[d].free_s;
    const auto once = [&](Kind kind, int s, double duration_s) {
      const double start_s = free_s;
      free_s += duration_s;
      if (duration_s > 0) Record(kind, s, /*m=*/-1, start_s, free_s);
    };
    for (int s = d; s < shape_.num_stages(); s += shape_.num_devices) {
      once(Kind::kGradientSync, s, times_[s].sync_s);
    }
    for (int s = d; s < shape_.num_stages(); s += shape_.num_devices) {
      once(Kind::kOptimizer, s, times_[s].optimizer_s);
    }
    return free_s;
  }

  void Record(Kind kind, int s, int m, double start_s, double end_s) {
    if (!recorder_.enabled()) return;
    recorder_.Record({.kind = kind,
                      .stage = s,
                      .microbatch = m,
                      .start_s = start_s,
                      .end_s = end_s});
  }

  const PipelineShape shape_;
  const absl::Span<const StageTimes> times_;
  std::vector<Device> devices_;
  std::vector<std::array<Work, 3>> work_;  // By stage and PassKind.
  // Inputs of forward and of backward passes, by stage. Every stage takes the
  // microbatches in the order in which its neighbours send them.
  std::vector<Channel> activations_;
  std::vector<Channel> gradients_;
  std::vector<double> link_free_s_;  // By device, then direction.
  // Where transfers block, by the first stage of the pair.
  std::vector<double> pair_free_s_;
  std::vector<int> runnable_;  // Devices.
  TimelineRecorder recorder_;
};

}  // namespace

PipelineRun PlayPipeline(const PipelineShape& shape,
                         absl::Span<const StageTimes> stages,
                         std::vector<TimelineEvent>* timeline) {
  TANGRAM_CHECK(static_cast<int>(stages.size()) == shape.num_stages());
  return Player(shape, stages, timeline).Play();
}

}  // namespace tangram
