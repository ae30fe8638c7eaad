#include "common/sim/repeat_program.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace tangram {
namespace {

// Finds periods by the fingerprints of the last runs.
class PeriodFinder {
 public:
  explicit PeriodFinder(size_t max_period) : max_period_(max_period) {}

  void Push(uint64_t fingerprint) {
    fingerprints_.push_back(fingerprint);
    if (fingerprints_.size() > 3 * max_period_ + 1) fingerprints_.pop_front();
  }

  // Forgets all runs, because periods were skipped.
  void Clear() {
    fingerprints_.clear();
    next_search_ = 0;
    confirmations_ = 1;
  }

  // Takes note that the last period did not last. A time that jumps only now
  // and then looks as if it had a short period. So the next period must have
  // lasted for twice as long.
  void DidNotLast() {
    confirmations_ = std::min(2 * confirmations_, max_period_);
  }

  // Returns the least c for which the times moved in the last c runs as in the
  // c runs before, now and in some earlier runs. 0: none, or it is too early to
  // search again. A search takes as long as several steps of the program for
  // each c, so the intervals between searches grow with the number of runs.
  size_t Period() {
    if (next_search_-- > 0) return 0;
    next_search_ = fingerprints_.size() / kRunsBySearches;
    for (size_t c = 1; 2 * c < fingerprints_.size() && c <= max_period_; ++c) {
      if (Lasts(c)) return c;
    }
    return 0;
  }

 private:
  // So a period is found at most 1/16 later.
  static constexpr size_t kRunsBySearches = 16;

  bool Lasts(size_t c) const {
    if (2 * c + confirmations_ > fingerprints_.size()) return false;
    for (size_t i = 0; i < confirmations_; ++i) {
      if (Back(i) - Back(i + c) != Back(i + c) - Back(i + 2 * c)) return false;
    }
    return true;
  }
  uint64_t Back(size_t runs) const {
    return fingerprints_[fingerprints_.size() - 1 - runs];
  }

  const size_t max_period_;
  std::deque<uint64_t> fingerprints_;
  size_t next_search_ = 0;    // In as many runs.
  size_t confirmations_ = 1;  // Runs in which a period must have lasted.
};

template <typename Rep>
class Repeater {
 public:
  Repeater(const MaxPlusProgram& program, int64_t count, size_t max_period,
           absl::Span<const Ticks> x, StopPoll& poll)
      : steps_per_run_(static_cast<int64_t>(program.steps.size() + x.size())),
        runner_(program, x),
        periods_(max_period),
        left_(count),
        poll_(poll) {
    periods_.Push(runner_.fingerprint());
  }

  // Runs the program while its times fit and until the poll stops.
  void Repeat() {
    while (CanRun()) {
      Run();
      const int64_t period = static_cast<int64_t>(periods_.Period());
      // Two periods are run to learn the speeds and the horizon.
      if (period > 0 && left_ > 2 * period) SkipPeriods(period);
    }
  }

  std::vector<Ticks> X() const { return runner_.X(); }
  int64_t left() const { return left_; }
  int64_t runs() const { return runs_; }

 private:
  bool CanRun() const {
    return left_ > 0 && runner_.fits() && !poll_.stopped();
  }

  void Run() {
    runner_.Run();
    CountRun();
  }

  void RunPeriod(int64_t period) {
    for (int64_t run = 0; run < period && CanRun(); ++run) Run();
  }

  void CountRun() {
    --left_;
    ++runs_;
    periods_.Push(runner_.fingerprint());
    poll_.After(steps_per_run_);
  }

  // Skips periods. After a skip, other maxima win during one more period. Then
  // the times often have their next speeds, so a skip is tried at once.
  void SkipPeriods(int64_t period) {
    if (!SkipOnce(period)) {
      periods_.DidNotLast();
      return;
    }
    do {
      periods_.Clear();
      periods_.Push(runner_.fingerprint());
      RunPeriod(period);
    } while (left_ > 2 * period && SkipOnce(period));
  }

  // Runs one period to learn the speeds, and one to learn the horizon. Then
  // skips the following periods up to the horizon if every time kept its speed.
  // Returns whether it did.
  bool SkipOnce(int64_t period) {
    const std::vector<Ticks> before = runner_.X();
    RunPeriod(period);
    std::vector<Ticks> speeds = runner_.X();
    for (size_t i = 0; i < speeds.size(); ++i) speeds[i] -= before[i];
    std::vector<Ticks> moved = speeds;
    int64_t horizon = MaxPlusRunner<Rep>::kForever;
    for (int64_t run = 0; run < period; ++run) {
      if (!CanRun()) return false;
      horizon = std::min(horizon, runner_.RunMoving(moved));
      CountRun();
    }
    const int64_t skipped = std::min(horizon, left_ / period);
    if (skipped <= 0 || moved != speeds) return false;
    runner_.Move(speeds, skipped);
    if (!runner_.fits()) return false;
    left_ -= skipped * period;
    return true;
  }

  const int64_t steps_per_run_;
  MaxPlusRunner<Rep> runner_;
  PeriodFinder periods_;
  int64_t left_;
  int64_t runs_ = 0;
  StopPoll& poll_;
};

// Runs the program in int64_t, and in Ticks from where that does not suffice.
RepeatedProgram RepeatNarrowThenWide(const MaxPlusProgram& program,
                                     int64_t count, size_t max_period,
                                     absl::Span<const Ticks> x,
                                     StopPoll& poll) {
  Repeater<int64_t> narrow(program, count, max_period, x, poll);
  narrow.Repeat();
  if (narrow.left() == 0 || poll.stopped()) {
    return {.x = narrow.X(), .runs = narrow.runs()};
  }
  std::vector<Ticks> x_now(x.begin(), x.end());
  if (narrow.runs() > 0) x_now = narrow.X();
  Repeater<Ticks> wide(program, narrow.left(), max_period, x_now, poll);
  wide.Repeat();
  return {.x = wide.X(), .runs = narrow.runs() + wide.runs()};
}

}  // namespace

RepeatedProgram RepeatProgram(const MaxPlusProgram& program, int64_t count,
                              size_t max_period, absl::Span<const Ticks> x,
                              StopPoll& poll) {
  std::vector<Ticks> now(x.begin(), x.end());
  if (count == 0) return {.x = std::move(now)};
  const MaxPlusProgram simple = Simplified(program);
  std::vector<int32_t> read;
  const MaxPlusProgram quick =
      SortedByDepth(Simplified(OnlyRead(simple, read)));
  std::vector<Ticks> read_x;
  for (const int32_t i : read) read_x.push_back(x[i]);
  const RepeatedProgram repeated =
      RepeatNarrowThenWide(quick, count - 1, max_period, read_x, poll);
  for (size_t i = 0; i < read.size(); ++i) now[read[i]] = repeated.x[i];
  // The last run sets the other outputs too.
  MaxPlusRunner<Ticks> last(simple, now);
  last.Run();
  return {.x = last.X(), .runs = repeated.runs + 1};
}

}  // namespace tangram
