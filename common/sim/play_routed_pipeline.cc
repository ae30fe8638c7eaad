#include "common/sim/play_routed_pipeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <unordered_map>

#include "common/base/check.h"
#include "common/sim/play_pipeline.h"

namespace tangram {
namespace {

using Kind = TimelineEvent::Kind;

// The passes that one device of a stage runs.
class StagePassOrder {
 public:
  StagePassOrder(const PipelineShape& shape, int s, const RoutedStage& stage,
                 int device)
      : stage_(stage), device_(device), passes_(shape, s) {
    SkipOthers();
  }

  bool done() const { return passes_.done(); }
  Pass next() const { return passes_.next(); }
  void Advance() {
    passes_.Advance();
    SkipOthers();
  }

 private:
  void SkipOthers() {
    while (!passes_.done() &&
           stage_.DeviceOf(passes_.next().microbatch) != device_) {
      passes_.Advance();
    }
  }

  const RoutedStage& stage_;
  const int device_;
  PassSequence passes_;
};

class RoutedPlayer {
 public:
  RoutedPlayer(const PipelineShape& shape, absl::Span<const RoutedStage> stages,
               std::vector<TimelineEvent>* timeline)
      : stages_(stages), timeline_(timeline) {
    devices_.resize(stages.size());
    for (int s = 0; s < static_cast<int>(stages.size()); ++s) {
      devices_[s].reserve(stages[s].devices.size());
      for (int d = 0; d < static_cast<int>(stages[s].devices.size()); ++d) {
        devices_[s].emplace_back(shape, s, stages[s], d);
      }
    }
  }

  RoutedRun Play(StopPoll& poll) {
    for (int s = static_cast<int>(stages_.size()) - 1; s >= 0; --s) {
      for (int d = 0; d < static_cast<int>(devices_[s].size()); ++d) {
        runnable_.emplace_back(s, d);
      }
    }
    while (!runnable_.empty()) {
      const auto [s, d] = runnable_.back();
      runnable_.pop_back();
      RunUntilItWaits(s, d, poll);
      if (poll.stopped()) return {};
    }
    return Finish();
  }

 private:
  // Arrival times of inputs by microbatch.
  using Inputs = std::unordered_map<int, double>;

  struct Device {
    Device(const PipelineShape& shape, int s, const RoutedStage& stage, int d)
        : passes(shape, s, stage, d) {}

    StagePassOrder passes;
    Inputs activations;
    Inputs gradients;
    double free_s = 0;
    double link_free_s[2] = {0, 0};  // To the next and to the previous stage.
    bool waits = false;
  };

  void RunUntilItWaits(int s, int d, StopPoll& poll) {
    Device& device = devices_[s][d];
    const RoutedDevice& times = stages_[s].devices[d];
    device.waits = false;
    for (; !device.passes.done(); device.passes.Advance()) {
      if (poll.After(1)) return;
      const Pass pass = device.passes.next();
      const bool forward = pass.kind == PassKind::kForward;
      const bool has_source =
          forward ? s > 0 : s + 1 < static_cast<int>(stages_.size());
      double start_s = device.free_s;
      if (has_source) {
        Inputs& inputs = forward ? device.activations : device.gradients;
        const auto input = inputs.find(pass.microbatch);
        if (input == inputs.end()) {
          device.waits = true;
          return;
        }
        start_s = std::max(start_s, input->second);
        inputs.erase(input);
      }
      device.free_s = start_s + (forward ? times.forward_s : times.backward_s);
      Record(forward ? Kind::kForward : Kind::kBackward, s, d, pass.microbatch,
             start_s, device.free_s);
      if (forward) {
        SendForward(s, d, pass.microbatch);
      } else {
        SendBackward(s, d, pass.microbatch);
      }
    }
  }

  void SendForward(int s, int d, int m) {
    if (s + 1 == static_cast<int>(stages_.size())) return;
    const int to = stages_[s + 1].DeviceOf(m);
    const double send_s = stages_[s].sends.at({d, to}).forward_s;
    devices_[s + 1][to].activations[m] =
        Transfer(Kind::kSendForward, s, d, m, send_s);
    Wake(s + 1, to);
  }

  void SendBackward(int s, int d, int m) {
    if (s == 0) return;
    const int to = stages_[s - 1].DeviceOf(m);
    const double send_s = stages_[s - 1].sends.at({to, d}).backward_s;
    devices_[s - 1][to].gradients[m] =
        Transfer(Kind::kSendBackward, s, d, m, send_s);
    Wake(s - 1, to);
  }

  // Plays one transfer on the device's link in that direction. Returns its end.
  double Transfer(Kind kind, int s, int d, int m, double send_s) {
    Device& device = devices_[s][d];
    double& link_free_s =
        device.link_free_s[kind == Kind::kSendForward ? 0 : 1];
    const double start_s = std::max(link_free_s, device.free_s);
    link_free_s = start_s + send_s;
    if (send_s > 0) Record(kind, s, d, m, start_s, link_free_s);
    return link_free_s;
  }

  void Wake(int s, int d) {
    if (!devices_[s][d].waits) return;
    devices_[s][d].waits = false;
    runnable_.emplace_back(s, d);
  }

  // Plays gradient reduction and optimizers of every stage.
  RoutedRun Finish() {
    RoutedRun run;
    for (int s = 0; s < static_cast<int>(stages_.size()); ++s) {
      const RoutedStage& stage = stages_[s];
      std::vector<double> ends_s;
      double reduced_s = 0;
      for (size_t d = 0; d < stage.devices.size(); ++d) {
        TANGRAM_CHECK(devices_[s][d].passes.done());
        ends_s.push_back(devices_[s][d].free_s);
        reduced_s =
            std::max(reduced_s, ends_s.back() + stage.devices[d].sync_s);
      }
      const double synced_s = reduced_s + stage.exchange_s;
      for (size_t d = 0; d < stage.devices.size(); ++d) {
        const RoutedDevice& device = stage.devices[d];
        const double end_s = synced_s + device.optimizer_s;
        RecordOnce(Kind::kGradientSync, s, d, ends_s[d],
                   ends_s[d] + device.sync_s);
        RecordOnce(Kind::kGradientSync, s, d, reduced_s, synced_s);
        RecordOnce(Kind::kOptimizer, s, d, synced_s, end_s);
        run.iteration_time_s = std::max(run.iteration_time_s, end_s);
      }
      run.passes_end_s.push_back(std::move(ends_s));
    }
    return run;
  }

  void RecordOnce(Kind kind, int s, size_t d, double start_s, double end_s) {
    if (end_s > start_s) {
      Record(kind, s, static_cast<int>(d), /*m=*/-1, start_s, end_s);
    }
  }

  void Record(Kind kind, int s, int d, int m, double start_s, double end_s) {
    if (timeline_ == nullptr) return;
    timeline_->push_back({.kind = kind,
                          .stage = s,
                          .microbatch = m,
                          .replica = d,
                          .start_s = start_s,
                          .end_s = end_s});
  }

  const absl::Span<const RoutedStage> stages_;
  std::vector<TimelineEvent>* const timeline_;
  std::vector<std::vector<Device>> devices_;
  std::vector<std::pair<int, int>> runnable_;  // Stage and device.
};

// Returns an upper bound of the number of events: each stage has two passes and
// two transfers of each microbatch, each device synchronisation and optimizer.
int64_t MaxEvents(const PipelineShape& shape,
                  absl::Span<const RoutedStage> stages) {
  int64_t events = int64_t{4} * shape.num_stages() * shape.num_microbatches;
  for (const RoutedStage& stage : stages) {
    events += 2 * static_cast<int64_t>(stage.devices.size());
  }
  return events;
}

}  // namespace

RoutedRun PlayRoutedPipeline(const PipelineShape& shape,
                             absl::Span<const RoutedStage> stages,
                             std::vector<TimelineEvent>* timeline,
                             StopPoll& poll) {
  TANGRAM_CHECK(static_cast<int>(stages.size()) == shape.num_stages());
  if (timeline != nullptr) timeline->clear();
  if (MaxEvents(shape, stages) > kMaxTimelineEvents) timeline = nullptr;
  const RoutedRun run = RoutedPlayer(shape, stages, timeline).Play(poll);
  if (timeline != nullptr) {
    std::stable_sort(timeline->begin(), timeline->end(),
                     [](const TimelineEvent& a, const TimelineEvent& b) {
                       return std::tie(a.stage, a.start_s, a.replica) <
                              std::tie(b.stage, b.start_s, b.replica);
                     });
  }
  return run;
}

std::vector<int> HeldByDevices(const PipelineShape& shape, int s,
                               const RoutedStage& stage, StopPoll& poll) {
  std::vector<int> most;
  for (int d = 0; d < static_cast<int>(stage.devices.size()); ++d) {
    int held = 0;
    most.push_back(0);
    for (StagePassOrder passes(shape, s, stage, d); !passes.done();
         passes.Advance()) {
      if (poll.After(1)) break;
      held += passes.next().kind == PassKind::kForward ? 1 : -1;
      most.back() = std::max(most.back(), held);
    }
  }
  return most;
}

RoutedRun PlayRoutedPipeline(const PipelineShape& shape,
                             absl::Span<const RoutedStage> stages,
                             std::vector<TimelineEvent>* timeline) {
  StopPoll never;
  return PlayRoutedPipeline(shape, stages, timeline, never);
}

std::vector<int> HeldByDevices(const PipelineShape& shape, int s,
                               const RoutedStage& stage) {
  StopPoll never;
  return HeldByDevices(shape, s, stage, never);
}

}  // namespace tangram
