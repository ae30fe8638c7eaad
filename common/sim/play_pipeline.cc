#include "common/sim/play_pipeline.h"

#include <algorithm>
#include <array>

#include "common/base/check.h"
#include "common/sim/arrival_queue.h"
#include "common/sim/timeline_recorder.h"

namespace tangram {
namespace {

using Kind = TimelineEvent::Kind;

// What a pass of one kind does on one stage, whatever the microbatch.
struct Work {
  Kind kind = Kind::kForward;
  double duration_s = 0;
  ArrivalQueue* input = nullptr;  // Null: it waits for none.
  // The input of the pass that waits for its output; null: there is none.
  ArrivalQueue* output = nullptr;
  Kind send_kind = Kind::kSendForward;
  double send_s = 0;
  double* link_free_s = nullptr;
  int receiver = 0;  // Device.
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
        recorder_(shape, timeline) {
    devices_.reserve(shape.num_devices);
    for (int d = 0; d < shape.num_devices; ++d) devices_.emplace_back(shape, d);
    work_.reserve(stages.size());
    for (int s = 0; s < shape.num_stages(); ++s) {
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
    double free_s = 0;                      // End of the last pass.
    const ArrivalQueue* awaited = nullptr;  // What it waits for.
  };

  Work ForwardWork(int s) {
    Work work = {.kind = Kind::kForward,
                 .duration_s = times_[s].forward_s,
                 .input = s > 0 ? &activations_[s] : nullptr};
    if (s + 1 == shape_.num_stages()) return work;
    const int device = s % shape_.num_devices;
    work.output = &activations_[s + 1];
    work.send_kind = Kind::kSendForward;
    work.send_s = times_[s].send_forward_s;
    work.link_free_s = &link_free_s_[2 * device];
    work.receiver = (s + 1) % shape_.num_devices;
    return work;
  }

  Work BackwardWork(int s) {
    const bool is_last = s + 1 == shape_.num_stages();
    Work work = {.kind = Kind::kBackward,
                 .duration_s = times_[s].backward_s,
                 .input = is_last ? nullptr : &gradients_[s]};
    if (shape_.splits_backward()) {
      work.duration_s -= times_[s].weight_gradient_s;
    }
    if (s == 0) return work;
    const int device = s % shape_.num_devices;
    work.output = &gradients_[s - 1];
    work.send_kind = Kind::kSendBackward;
    work.send_s = times_[s - 1].send_backward_s;
    // Of two devices, the next and the previous one are the same.
    work.link_free_s =
        &link_free_s_[2 * device + (shape_.num_devices == 2 ? 0 : 1)];
    work.receiver = (s - 1) % shape_.num_devices;
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
      double ready_s = 0;
      if (work.input != nullptr) {
        if (work.input->empty()) {
          device.awaited = work.input;
          return;
        }
        ready_s = work.input->Pop();
      }
      const double start_s = std::max(device.free_s, ready_s);
      device.free_s = start_s + work.duration_s;
      Record(work.kind, pass.stage, pass.microbatch, start_s, device.free_s);
      if (work.output != nullptr) Send(work, pass, device.free_s);
    }
  }

  void Send(const Work& work, const Pass& pass, double ready_s) {
    const double start_s = std::max(*work.link_free_s, ready_s);
    const double end_s = start_s + work.send_s;
    if (work.send_s > 0) {
      Record(work.send_kind, pass.stage, pass.microbatch, start_s, end_s);
    }
    *work.link_free_s = end_s;
    work.output->Push(end_s);
    Device& receiver = devices_[work.receiver];
    if (receiver.awaited != work.output) return;
    receiver.awaited = nullptr;
    runnable_.push_back(work.receiver);
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
  std::vector<ArrivalQueue> activations_;
  std::vector<ArrivalQueue> gradients_;
  std::vector<double> link_free_s_;  // By device, then direction.
  std::vector<int> runnable_;        // Devices.
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
