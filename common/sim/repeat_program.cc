#include "common/sim/repeat_program.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "common/sim/delayed_program.h"
#include "common/sim/longest_walks.h"

namespace tangram {
namespace {

// To find the longest walks takes more runs than this.
constexpr int64_t kMinSkippedRuns = 32;

// So the walks take at most 256 MB.
constexpr int64_t kMaxWalks = int64_t{1} << 22;

// See RepeatProgram: times this, the error is less than the result.
constexpr int64_t kAccuracy = 10'000'000'000;

// Finds x(N). `Rep` represents times less a base and a pace.
template <typename Rep>
class RunSkipper {
 public:
  RunSkipper(const DelayedProgram& program, int64_t count,
             absl::Span<const Ticks> x, StopPoll& poll)
      : program_(program),
        count_(count),
        x_(x),
        base_(*std::max_element(x.begin(), x.end())),
        longest_(x.size(), kNone),
        all_walks_(program, poll),
        visits_(program, poll) {}

  // Returns x after all runs. Nothing: gains do not fit, a longest walk has
  // more runs, or the poll has stopped.
  std::optional<std::vector<Ticks>> Skip() {
    all_walks_.Reset(Cycle(), /*modulus=*/1);
    while (true) {
      Cycle slowest;
      if (!FindSlowest(slowest)) return std::nullopt;
      if (slowest.inputs.empty() || !MayBeLonger()) return longest_;
      for (Cycle& cycle : all_walks_.TakeCycles()) {
        cycles_.push_back(std::move(cycle));
      }
      const bool found =
          slowest.runs == 1 ? VisitLoops(slowest) : VisitCycle(slowest);
      if (!found) return std::nullopt;
    }
  }

  int64_t runs() const {
    return all_walks_.program_runs() + visits_.program_runs();
  }

 private:
  using Walks = LongestWalks<Rep>;
  using Outcome = typename Walks::Outcome;

  // Less than all times.
  static constexpr Ticks kNone = -1;

  // Calls `visit` with each place of each queue: its input, its place in the
  // queue and in x.
  template <typename Visit>
  void ForEachPlace(Visit visit) const {
    for (int32_t i = 0; i < program_.num_inputs(); ++i) {
      const std::vector<int32_t>& queue = program_.queues[i];
      for (size_t q = 0; q < queue.size(); ++q) {
        visit(i, static_cast<int64_t>(q), queue[q]);
      }
    }
  }

  // A walk that starts in place q of a queue has passed it after q runs.
  void AddStarts(Walks& walks) const {
    ForEachPlace([&](int32_t input, int64_t q, int32_t place) {
      walks.Add(input, q, x_[place] - base_ - walks.PaceTicks(q));
    });
  }

  // Finds the slowest cycle, none if there is none, and the longest walks at
  // its pace.
  bool FindSlowest(Cycle& slowest) {
    for (const Cycle& cycle : cycles_) {
      if (cycle.IsSlowerThan(slowest) && !IsRemoved(cycle)) slowest = cycle;
    }
    Outcome outcome = Outcome::kTooSlow;
    while (outcome == Outcome::kTooSlow) {
      all_walks_.SetPace(slowest);
      AddStarts(all_walks_);
      outcome = all_walks_.Improve();
      if (outcome == Outcome::kTooSlow) slowest = all_walks_.slowest();
    }
    return outcome == Outcome::kDone;
  }

  bool IsRemoved(const Cycle& cycle) const {
    return std::any_of(cycle.inputs.begin(), cycle.inputs.end(),
                       [&](int32_t i) { return all_walks_.IsRemoved(i); });
  }

  // Returns whether a walk that was not taken yet may be longer than those that
  // were, if its number of runs is not taken into account.
  bool MayBeLonger() const {
    bool may_be_longer = false;
    ForEachPlace([&](int32_t input, int64_t q, int32_t place) {
      const auto walk = all_walks_.LongestTo(input, 0);
      may_be_longer |= walk.runs >= 0 &&
                       TicksOf(all_walks_, walk, count_ + q) > longest_[place];
    });
    return may_be_longer;
  }

  Ticks TicksOf(const Walks& walks, const typename Walks::Walk& walk,
                int64_t runs) const {
    return base_ + walk.gain + walks.PaceTicks(runs);
  }

  // Takes the longest walks that visit `cycle`, and removes it.
  bool VisitCycle(Cycle cycle) {
    Outcome outcome = Outcome::kTooSlow;
    while (true) {
      if (cycle.runs * program_.num_inputs() > kMaxWalks) return false;
      visits_.Reset(cycle, /*modulus=*/cycle.runs);
      AddStarts(visits_);
      outcome = visits_.Improve();
      if (outcome != Outcome::kTooSlow) break;
      cycle = visits_.slowest();
    }
    if (outcome != Outcome::kDone) return false;
    visits_.StartFrom(cycle.inputs);
    return visits_.Improve() == Outcome::kDone && TakeVisits(cycle.inputs);
  }

  // As VisitCycle, for all known cycles of one run whose pace is so near that
  // of the slowest that the error is small enough.
  bool VisitLoops(const Cycle& slowest) {
    visits_.Reset(slowest, /*modulus=*/1);
    std::vector<int32_t> visited;
    const auto visit = [&](const Cycle& loop) {
      const int32_t input = loop.inputs.front();
      const auto walk = all_walks_.LongestTo(input, 0);
      const Ticks missing = slowest.ticks - loop.ticks;
      visits_.Add(input, walk.runs, walk.gain - (count_ - walk.runs) * missing);
      visited.push_back(input);
    };
    visit(slowest);
    const int64_t most_runs = 2 * static_cast<int64_t>(x_.size());
    const Ticks max_error = slowest.ticks * count_ / kAccuracy;
    for (const Cycle& cycle : cycles_) {
      if (cycle.runs == 1 && !IsRemoved(cycle) &&
          (slowest.ticks - cycle.ticks) * most_runs <= max_error) {
        visit(cycle);
      }
    }
    return visits_.Improve() == Outcome::kDone && TakeVisits(visited);
  }

  bool TakeVisits(absl::Span<const int32_t> visited) {
    bool fits = true;
    ForEachPlace([&](int32_t input, int64_t q, int32_t place) {
      const auto walk = visits_.LongestTo(input, count_ + q);
      if (walk.runs < 0) return;
      fits &= walk.runs <= count_ + q;
      longest_[place] =
          std::max(longest_[place], TicksOf(visits_, walk, count_ + q));
    });
    all_walks_.Remove(visited);
    visits_.Remove(visited);
    return fits;
  }

  const DelayedProgram& program_;
  const int64_t count_;
  const absl::Span<const Ticks> x_;
  const Ticks base_;
  std::vector<Ticks> longest_;  // x(N), of the walks that were taken.
  Walks all_walks_;             // Apart from those taken.
  Walks visits_;                // Those that visit a cycle.
  std::vector<Cycle> cycles_;   // All that were found.
};

// Makes every run.
RepeatedProgram RunAll(const MaxPlusProgram& program, int64_t count,
                       absl::Span<const Ticks> x, StopPoll& poll) {
  const size_t n = x.size();
  RepeatedProgram result = {.x = {x.begin(), x.end()}};
  std::vector<Ticks> times(n + program.steps.size());
  for (; result.runs < count && !poll.stopped(); ++result.runs) {
    std::copy(result.x.begin(), result.x.end(), times.begin());
    for (size_t k = 0; k < program.steps.size(); ++k) {
      const MaxPlusStep& step = program.steps[k];
      times[n + k] = std::max(times[step.a], times[step.b]) + step.duration;
    }
    for (size_t i = 0; i < n; ++i) result.x[i] = times[program.outputs[i]];
    poll.After(static_cast<int64_t>(times.size()));
  }
  return result;
}

// Skips runs in int64_t, in Ticks where that does not suffice.
RepeatedProgram SkipRuns(const MaxPlusProgram& program, int64_t count,
                         absl::Span<const Ticks> x, StopPoll& poll) {
  if (count <= kMinSkippedRuns || x.empty()) {
    return RunAll(program, count, x, poll);
  }
  const DelayedProgram delayed = WithDelays(program);
  RunSkipper<int64_t> narrow(delayed, count, x, poll);
  std::optional<std::vector<Ticks>> skipped = narrow.Skip();
  int64_t runs = narrow.runs();
  if (!skipped.has_value() && !poll.stopped()) {
    RunSkipper<Ticks> wide(delayed, count, x, poll);
    skipped = wide.Skip();
    runs += wide.runs();
  }
  if (skipped.has_value()) return {.x = *std::move(skipped), .runs = runs};
  RepeatedProgram all = RunAll(program, count, x, poll);
  all.runs += runs;
  return all;
}

}  // namespace

RepeatedProgram RepeatProgram(const MaxPlusProgram& program, int64_t count,
                              absl::Span<const Ticks> x, StopPoll& poll) {
  if (count == 0) return {.x = {x.begin(), x.end()}};
  const MaxPlusProgram simple = Simplified(program);
  std::vector<int32_t> read;
  const MaxPlusProgram quick =
      SortedByDepth(Simplified(OnlyRead(simple, read)));
  std::vector<Ticks> read_x;
  for (const int32_t i : read) read_x.push_back(x[i]);
  const RepeatedProgram repeated = SkipRuns(quick, count - 1, read_x, poll);
  std::vector<Ticks> now(x.begin(), x.end());
  for (size_t i = 0; i < read.size(); ++i) now[read[i]] = repeated.x[i];
  // The last run sets the other outputs too.
  RepeatedProgram last = RunAll(simple, 1, now, poll);
  last.runs += repeated.runs;
  return last;
}

}  // namespace tangram
