#include "common/sim/steady_pipeline.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/sim/max_plus_program.h"
#include "common/sim/pipeline_player.h"
#include "common/sim/recording_clock.h"
#include "common/sim/repeat_program.h"

namespace tangram {
namespace {

// A round with more forward passes than this is not recorded, because its
// program would take more than 200 MB.
constexpr int64_t kMaxRecordedPasses = 1 << 18;

// Returns an upper bound of every time of the iteration: all passes and
// transfers in sequence.
double LatestSeconds(const PipelineShape& shape,
                     absl::Span<const StageTimes> stages) {
  double microbatch_s = 0;
  double once_s = 0;
  for (const StageTimes& stage : stages) {
    microbatch_s += stage.forward_s + stage.backward_s + stage.send_forward_s +
                    stage.send_backward_s;
    once_s += stage.sync_s + stage.optimizer_s;
  }
  return shape.num_microbatches * microbatch_s + once_s;
}

// Returns an upper bound of the duration of each pass and transfer.
double LongestSeconds(absl::Span<const StageTimes> stages) {
  double longest_s = 0;
  for (const StageTimes& stage : stages) {
    longest_s = std::max({longest_s, stage.forward_s, stage.backward_s,
                          stage.send_forward_s, stage.send_backward_s});
  }
  return longest_s;
}

class SteadyPlayer {
 public:
  SteadyPlayer(const PipelineShape& shape, absl::Span<const StageTimes> stages,
               double latest_s, StopPoll& poll)
      : shape_(shape),
        clock_(LongestSeconds(stages), latest_s),
        player_(shape, stages, clock_, /*timeline=*/nullptr),
        poll_(poll) {}

  // Returns nothing of use if the poll has stopped.
  PipelineRun Play() {
    // The first device feeds the pipeline. Under GPipe, the last one feeds the
    // second half of the iteration.
    if (shape_.schedule == PipelineSchedule::kGpipe) {
      gate_ = {.forward = 0, .backward = 0};
      OpenBySteps(gate_.forward);
      OpenBySteps(gate_.backward);
    } else {
      gate_ = {.forward = 0};
      OpenBySteps(gate_.forward);
    }
    return poll_.stopped() ? PipelineRun() : player_.Finish();
  }

  int64_t rounds_played() const { return rounds_played_; }

 private:
  using Time = RecordingClock::Time;

  // To record a round takes as long as to play a few.
  static constexpr int64_t kMinRepeats = 4;

  int64_t PassesPerRound() const {
    return shape_.schedule == PipelineSchedule::kInterleaved
               ? shape_.num_stages()
               : 1;
  }
  int64_t RoundsLeft(int64_t passes) const {
    const int64_t num_passes =
        int64_t{shape_.num_microbatches} * shape_.virtual_stages;
    return (num_passes - passes) / PassesPerRound();
  }

  // Raises `passes`, one side of the gate, until all its passes have run.
  void OpenBySteps(int64_t& passes) {
    const bool records =
        PassesPerRound() * shape_.num_devices <= kMaxRecordedPasses;
    int64_t played = 0;
    int64_t next_comparison = 1;
    while (RoundsLeft(passes) > 0 && !poll_.stopped()) {
      const bool compares = records && played >= next_comparison;
      const PipelineProgress before =
          compares ? player_.progress() : PipelineProgress();
      PlayRound(passes);
      ++played;
      if (!compares) continue;
      // A comparison takes about as long as a round, so the intervals between
      // comparisons grow.
      next_comparison = played + played / 16;
      if (RepeatsSince(before, passes) >= kMinRepeats) RepeatRound(passes);
    }
    passes = PassGate::kOpen;
    player_.PlayUpTo(gate_, poll_);
  }

  // Returns how many rounds like the one since `before` follow. The last round
  // does not count, because the devices change to other passes after it.
  int64_t RepeatsSince(const PipelineProgress& before, int64_t passes) const {
    return std::min(player_.MaxRepeats(before), RoundsLeft(passes) - 1);
  }

  void PlayRound(int64_t& passes) {
    passes += PassesPerRound();
    player_.PlayUpTo(gate_, poll_);
    ++rounds_played_;
  }

  // Plays a round as the one before it, and repeats it while the order of
  // passes stays the same.
  void RepeatRound(int64_t& passes) {
    const PipelineProgress before = player_.progress();
    const MaxPlusProgram program = RecordRound(passes);
    const int64_t repeats = RepeatsSince(before, passes);
    if (repeats <= 0 || poll_.stopped()) return;
    std::vector<Ticks> times;
    player_.ForEachTime([&](Time& time) { times.push_back(time.at); });
    const RepeatedProgram repeated =
        RepeatProgram(program, repeats, times, poll_);
    rounds_played_ += repeated.runs;
    size_t i = 0;
    player_.ForEachTime([&](Time& time) { time.at = repeated.x[i++]; });
    player_.RepeatPasses(before, repeats);
    passes += repeats * PassesPerRound();
  }

  // Plays a round. Returns it as a program of the times before it.
  MaxPlusProgram RecordRound(int64_t& passes) {
    int32_t num_times = 0;
    player_.ForEachTime([&](Time& time) { time.index = num_times++; });
    clock_.StartRecording(num_times);
    PlayRound(passes);
    MaxPlusProgram program{.steps = clock_.StopRecording()};
    player_.ForEachTime(
        [&](Time& time) { program.outputs.push_back(time.index); });
    return program;
  }

  const PipelineShape shape_;
  RecordingClock clock_;
  PipelinePlayer<RecordingClock> player_;
  PassGate gate_;
  int64_t rounds_played_ = 0;
  StopPoll& poll_;
};

}  // namespace

PipelineRun PlaySteadyPipeline(const PipelineShape& shape,
                               absl::Span<const StageTimes> stages,
                               StopPoll& poll, int64_t* rounds_played) {
  const double latest_s = LatestSeconds(shape, stages);
  // A duration that is not finite makes the iteration time not finite.
  if (!std::isfinite(latest_s)) {
    return {.iteration_time_s = latest_s,
            .busy_s = std::vector<double>(stages.size(), latest_s),
            .passes_end_s = std::vector<double>(shape.num_devices, latest_s)};
  }
  SteadyPlayer player(shape, stages, latest_s, poll);
  const PipelineRun run = player.Play();
  if (rounds_played != nullptr) *rounds_played = player.rounds_played();
  return run;
}

PipelineRun PlaySteadyPipeline(const PipelineShape& shape,
                               absl::Span<const StageTimes> stages,
                               int64_t* rounds_played) {
  StopPoll never;
  return PlaySteadyPipeline(shape, stages, never, rounds_played);
}

}  // namespace tangram
