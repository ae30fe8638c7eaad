#include "common/sim/one_f_one_b.h"

#include <algorithm>
#include <tuple>

namespace tangram {
namespace {

using Kind = TimelineEvent::Kind;

// Plays the schedule in an order in which everything that a pass waits for was
// played before it, so that one sweep suffices:
//   the warm-up of stage 0, 1, ..., p − 1; then for each microbatch m,
//   from the last stage to the first, backward m and forward m + warm-up.
// Forward m of stage s waits for forward m of stage s − 1, which its own
// backward of the wave before (or its longer warm-up) precedes. So each stage
// has at most one activation on its way to it between waves.
class Schedule {
 public:
  Schedule(absl::Span<const StageTimes> stages, int num_microbatches,
           std::vector<TimelineEvent>* timeline)
      : times_(stages),
        num_stages_(static_cast<int>(stages.size())),
        num_microbatches_(num_microbatches),
        states_(stages.size()),
        timeline_(timeline) {}

  PipelineRun Play() {
    WarmUp();
    for (int m = 0; m < num_microbatches_; ++m) {
      for (int s = num_stages_ - 1; s >= 0; --s) {
        Backward(s, m);
        const int next = m + num_stages_ - s;
        if (next < num_microbatches_) {
          Forward(s, next, states_[s].activation_arrival_s);
        }
      }
    }
    return Finish();
  }

 private:
  struct StageState {
    double free_s = 0;  // End of the last pass.
    double forward_link_free_s = 0;
    double backward_link_free_s = 0;
    double activation_arrival_s = 0;  // Of the next forward pass.
    double gradient_arrival_s = 0;    // Of the next backward pass.
    double busy_s = 0;
  };

  void WarmUp() {
    // When each microbatch reaches the stage in hand. It takes all but the
    // last of those sent to it, which waits for the steady state.
    std::vector<double> arrivals(std::min(num_stages_, num_microbatches_), 0.0);
    for (int s = 0; s < num_stages_; ++s) {
      const int warm_up = std::min(num_stages_ - s, num_microbatches_);
      for (int m = 0; m < warm_up; ++m) {
        arrivals[m] = Forward(s, m, arrivals[m]);
      }
    }
  }

  // Returns when the activations are at the next stage.
  double Forward(int s, int m, double arrival_s) {
    StageState& state = states_[s];
    const double end_s =
        Pass(Kind::kForward, s, m, arrival_s, times_[s].forward_s);
    if (s + 1 == num_stages_) return end_s;
    const double sent_s =
        Send(Kind::kSendForward, s, m, end_s, times_[s].send_forward_s,
             state.forward_link_free_s);
    states_[s + 1].activation_arrival_s = sent_s;
    return sent_s;
  }

  void Backward(int s, int m) {
    StageState& state = states_[s];
    const double end_s = Pass(Kind::kBackward, s, m, state.gradient_arrival_s,
                              times_[s].backward_s);
    if (s == 0) return;
    states_[s - 1].gradient_arrival_s =
        Send(Kind::kSendBackward, s, m, end_s, times_[s - 1].send_backward_s,
             state.backward_link_free_s);
  }

  double Pass(Kind kind, int s, int m, double ready_s, double duration_s) {
    StageState& state = states_[s];
    const double start_s = std::max(state.free_s, ready_s);
    state.free_s = start_s + duration_s;
    state.busy_s += duration_s;
    Record(kind, s, m, start_s, state.free_s);
    return state.free_s;
  }

  double Send(Kind kind, int s, int m, double ready_s, double duration_s,
              double& link_free_s) {
    const double start_s = std::max(link_free_s, ready_s);
    link_free_s = start_s + duration_s;
    if (duration_s > 0) Record(kind, s, m, start_s, link_free_s);
    return link_free_s;
  }

  PipelineRun Finish() {
    PipelineRun run;
    run.busy_s.reserve(num_stages_);
    for (int s = 0; s < num_stages_; ++s) {
      const double synced_s = states_[s].free_s + times_[s].sync_s;
      const double done_s = synced_s + times_[s].optimizer_s;
      if (times_[s].sync_s > 0) {
        Record(Kind::kGradientSync, s, -1, states_[s].free_s, synced_s);
      }
      if (times_[s].optimizer_s > 0) {
        Record(Kind::kOptimizer, s, -1, synced_s, done_s);
      }
      run.iteration_time_s = std::max(run.iteration_time_s, done_s);
      run.busy_s.push_back(states_[s].busy_s);
    }
    return run;
  }

  void Record(Kind kind, int s, int m, double start_s, double end_s) {
    if (timeline_ == nullptr) return;
    timeline_->push_back({.kind = kind,
                          .stage = s,
                          .microbatch = m,
                          .start_s = start_s,
                          .end_s = end_s});
  }

  const absl::Span<const StageTimes> times_;
  const int num_stages_;
  const int num_microbatches_;
  std::vector<StageState> states_;
  std::vector<TimelineEvent>* const timeline_;
};

}  // namespace

PipelineRun RunOneFOneB(absl::Span<const StageTimes> stages,
                        int num_microbatches,
                        std::vector<TimelineEvent>* timeline) {
  if (timeline != nullptr) timeline->clear();
  const PipelineRun run = Schedule(stages, num_microbatches, timeline).Play();
  if (timeline != nullptr) {
    std::stable_sort(timeline->begin(), timeline->end(),
                     [](const TimelineEvent& a, const TimelineEvent& b) {
                       return std::tie(a.stage, a.start_s) <
                              std::tie(b.stage, b.start_s);
                     });
  }
  return run;
}

double ClosedFormIterationSeconds(absl::Span<const StageTimes> stages,
                                  int num_microbatches) {
  double sum_s = 0;
  double slowest_s = 0;
  double exposed_s = 0;
  double backward_before_s = 0;
  for (const StageTimes& stage : stages) {
    const double time_s = stage.forward_s + stage.backward_s +
                          stage.send_forward_s + stage.send_backward_s;
    sum_s += time_s;
    slowest_s = std::max(slowest_s, time_s);
    exposed_s = std::max(exposed_s,
                         stage.sync_s + stage.optimizer_s - backward_before_s);
    backward_before_s += stage.backward_s;
  }
  return sum_s + (num_microbatches - 1) * slowest_s + exposed_s;
}

}  // namespace tangram
