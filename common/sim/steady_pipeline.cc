#include "common/sim/steady_pipeline.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "common/sim/moving_clock.h"
#include "common/sim/pipeline_player.h"

namespace tangram {
namespace {

using Times = std::vector<absl::int128>;

// The longest period that is searched for, in rounds. A period is the number of
// microbatches on a ring of devices that wait for each other, so it is rarely
// longer than the pipeline. A pipeline with a longer period is played to its
// end, which is correct but slow.
constexpr size_t kMaxPeriod = 256;

// The times after each of the last rounds.
class History {
 public:
  void Push(Times times) {
    absl::int128 sum = 0;
    for (const absl::int128& time : times) sum += time;
    rounds_.push_back({std::move(times), sum});
    if (rounds_.size() > 2 * kMaxPeriod + 1) rounds_.pop_front();
  }
  void Clear() { rounds_.clear(); }

  // Returns the least c for which all times moved in the last c rounds as in
  // the c rounds before them. 0: none.
  size_t Period() const {
    for (size_t c = 1; 2 * c < rounds_.size(); ++c) {
      // The sums reject nearly all other c quickly.
      if (Back(0).sum - Back(c).sum == Back(c).sum - Back(2 * c).sum &&
          MovedAlike(c)) {
        return c;
      }
    }
    return 0;
  }

  // Returns the change of each time in the last c rounds.
  Times Speeds(size_t c) const {
    Times speeds;
    for (size_t i = 0; i < Back(0).times.size(); ++i) {
      speeds.push_back(Back(0).times[i] - Back(c).times[i]);
    }
    return speeds;
  }

 private:
  struct Round {
    Times times;
    absl::int128 sum = 0;
  };

  const Round& Back(size_t rounds) const {
    return rounds_[rounds_.size() - 1 - rounds];
  }

  bool MovedAlike(size_t c) const {
    const Times& now = Back(0).times;
    const Times& then = Back(c).times;
    const Times& before = Back(2 * c).times;
    if (now.size() != then.size() || now.size() != before.size()) return false;
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i] - then[i] != then[i] - before[i]) return false;
    }
    return true;
  }

  std::deque<Round> rounds_;
};

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

class SteadyPlayer {
 public:
  SteadyPlayer(const PipelineShape& shape, absl::Span<const StageTimes> stages,
               double latest_s)
      : shape_(shape),
        clock_(latest_s),
        player_(shape, stages, clock_, /*timeline=*/nullptr) {}

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
    return player_.Finish();
  }

  int64_t rounds_played() const { return rounds_played_; }

 private:
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
    history_.Clear();
    while (RoundsLeft(passes) > 0) {
      PlayRound(passes);
      const int64_t period = static_cast<int64_t>(history_.Period());
      if (period > 0 && RoundsLeft(passes) > period) {
        SkipPeriods(period, passes);
      }
    }
    passes = PassGate::kOpen;
    player_.PlayUpTo(gate_);
  }

  void PlayRound(int64_t& passes) {
    passes += PassesPerRound();
    player_.PlayUpTo(gate_);
    Times times;
    player_.ForEachTime([&](MovingTime& time) { times.push_back(time.at); });
    history_.Push(std::move(times));
    ++rounds_played_;
  }

  // Plays one period with the speeds of the last one. Then skips the following
  // periods up to the horizon if every time kept its speed.
  void SkipPeriods(int64_t period, int64_t& passes) {
    const Times speeds = history_.Speeds(period);
    size_t i = 0;
    player_.ForEachTime([&](MovingTime& time) { time.speed = speeds[i++]; });
    const PipelineProgress before = player_.progress();
    clock_.Watch();
    for (int64_t round = 0; round < period; ++round) PlayRound(passes);
    const int64_t horizon = clock_.StopWatching();
    // The last round is played, because the devices change to other passes
    // after it.
    const int64_t skipped =
        std::min(horizon, (RoundsLeft(passes) - 1) / period);
    if (skipped <= 0 || !player_.RepeatsFrom(before) || !MovesAt(speeds)) {
      return;
    }
    player_.RepeatPasses(before, skipped);
    player_.ForEachTime(
        [&](MovingTime& time) { time.at += skipped * time.speed; });
    passes += skipped * period * PassesPerRound();
    history_.Clear();
  }

  bool MovesAt(const Times& speeds) {
    size_t i = 0;
    bool same = true;
    player_.ForEachTime([&](MovingTime& time) {
      same &= i < speeds.size() && time.speed == speeds[i];
      ++i;
    });
    return same && i == speeds.size();
  }

  const PipelineShape shape_;
  MovingClock clock_;
  PipelinePlayer<MovingClock> player_;
  PassGate gate_;
  History history_;
  int64_t rounds_played_ = 0;
};

}  // namespace

PipelineRun PlaySteadyPipeline(const PipelineShape& shape,
                               absl::Span<const StageTimes> stages,
                               int64_t* rounds_played) {
  const double latest_s = LatestSeconds(shape, stages);
  // A duration that is not finite makes the iteration time not finite.
  if (!std::isfinite(latest_s)) {
    return {.iteration_time_s = latest_s,
            .busy_s = std::vector<double>(stages.size(), latest_s),
            .passes_end_s = std::vector<double>(shape.num_devices, latest_s)};
  }
  SteadyPlayer player(shape, stages, latest_s);
  const PipelineRun run = player.Play();
  if (rounds_played != nullptr) *rounds_played = player.rounds_played();
  return run;
}

}  // namespace tangram
