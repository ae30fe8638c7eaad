#ifndef TANGRAM_COMMON_SIM_LONGEST_WALKS_H_
#define TANGRAM_COMMON_SIM_LONGEST_WALKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/stop_poll.h"
#include "common/sim/delayed_program.h"
#include "common/sim/max_plus_program.h"

namespace tangram {

// A closed walk through inputs of a program: it takes so many runs and ticks.
struct Cycle {
  Ticks ticks = -1;
  int64_t runs = 1;
  std::vector<int32_t> inputs;

  bool IsSlowerThan(const Cycle& other) const {
    return ticks * other.runs > other.ticks * runs;
  }
};

// The longest walks through a program: from its first times, over the steps of
// any number of runs, to an input. A walk of k runs gains its start and its
// durations minus k times a pace. If no cycle is slower than the pace, one of
// the walks gains most. It is found for each input and each number of runs
// modulo `modulus`.
//
// This is policy iteration: a run of the program tells for each input from
// which input the longest walk comes. Each walk then follows these choices all
// the way, however many runs it takes.
//
// `Rep`, int64_t or Ticks, represents the gains. Not thread-safe.
template <typename Rep>
class LongestWalks {
 public:
  enum class Outcome {
    kDone,
    kTooSlow,  // slowest() is slower than the pace.
    kTooWide,  // A gain does not fit in Rep.
    kStopped,  // By the poll.
  };

  // `program` and `poll` must outlive the walks.
  LongestWalks(const DelayedProgram& program, StopPoll& poll);

  // Sets the pace to that of a cycle. Starts without walks.
  void Reset(const Cycle& pace, int64_t modulus);
  // Adds a walk to `input`.
  void Add(int32_t input, int64_t runs, Ticks gain);

  // Finds the longest walks that continue those that were added.
  Outcome Improve();

  // The slowest cycle if Improve returned kTooSlow.
  const Cycle& slowest() const { return slowest_; }
  // Continues at another pace. Starts must be added again. The modulus is 1.
  void SetPace(const Cycle& pace);

  // Forgets all walks but those to `inputs`. Those are now starts.
  void StartFrom(absl::Span<const int32_t> inputs);
  // Forgets the walks that may visit `inputs`. Later ones will not.
  void Remove(absl::Span<const int32_t> inputs);
  bool IsRemoved(int32_t input) const { return is_removed_[input]; }

  // Returns the cycles, most of them slow, that were found since the last call.
  std::vector<Cycle> TakeCycles();

  struct Walk {
    Ticks gain = 0;
    int64_t runs = -1;  // Negative: there is no walk.
  };
  // Returns the longest walk to `input` of so many runs modulo the modulus.
  Walk LongestTo(int32_t input, int64_t runs) const;

  // Returns the pace times `runs`, rounded down.
  Ticks PaceTicks(int64_t runs) const {
    return runs / modulus_ * pace_ + runs % modulus_ * pace_ / modulus_;
  }
  // Runs of the program so far.
  int64_t program_runs() const { return program_runs_; }

 private:
  static constexpr Rep kNever = -(Rep{1} << (8 * sizeof(Rep) - 2));
  // Every gain is smaller in size, and so is what one run adds.
  static constexpr Rep kLimit = Rep{1} << (8 * sizeof(Rep) - 4);
  static bool IsNever(Rep gain) { return gain < -2 * kLimit; }

  // Instead of a parent.
  static constexpr int32_t kStart = -1;
  static constexpr int32_t kForgotten = -2;  // The walk is valid.

  // The longest known walk to an input: that to `parent`, and one run more.
  struct Label {
    Rep gain = kNever;
    Rep last = 0;  // Gain since the parent.
    int64_t runs = -1;
    int32_t parent = kStart;
  };

  enum class State : int8_t { kUnknown, kOnPath, kKnown };

  // Returns the least pace of whole ticks at which the cycle is not slower.
  static Ticks WholePace(const Cycle& cycle) {
    return cycle.runs == 1 ? cycle.ticks
                           : (cycle.ticks + cycle.runs - 1) / cycle.runs;
  }
  void Set(Label& label, Ticks gain, int64_t runs);

  // Runs the program on the walks of one residue.
  void Run(int64_t residue);
  // Takes the longer ones of the walks that Run has found.
  void TakeLonger(int64_t residue);
  // Sets every walk to what its choices make of it. Breaks cycles of choices.
  Outcome FollowChoices();
  void Follow(int32_t label);
  void BreakCycle(absl::Span<const int32_t> labels);
  void AddLoops();

  const DelayedProgram& program_;
  StopPoll& poll_;
  const int32_t n_;  // Inputs.
  std::vector<bool> is_removed_;
  int64_t modulus_ = 1;
  Ticks pace_ = 0;             // In `modulus_` runs.
  std::vector<Label> labels_;  // By residue, then input.
  std::vector<bool> is_new_;   // By residue: a label has changed.
  // The current run, by time of the program.
  std::vector<Rep> times_;
  std::vector<int32_t> origins_;  // The inputs where the walks come from.
  std::vector<int64_t> runs_;     // By input.
  std::vector<State> states_;     // By label.
  std::vector<int32_t> path_;     // Labels.
  Cycle slowest_;
  std::vector<Cycle> cycles_;
  bool is_too_wide_ = false;
  int64_t program_runs_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_LONGEST_WALKS_H_
