#ifndef TANGRAM_COMMON_SIM_MAX_PLUS_PROGRAM_H_
#define TANGRAM_COMMON_SIM_MAX_PLUS_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/types/span.h"

namespace tangram {

// A time in units of a power of two of a second, so small that sums are exact.
using Ticks = absl::int128;

// One operation on times: t[k] = max(t[a], t[b]) + duration.
struct MaxPlusStep {
  int32_t a = 0;
  int32_t b = 0;
  int64_t duration = 0;  // Ticks.

  bool operator==(const MaxPlusStep&) const = default;
};

// A map y = M(x) of n times, as a sequence of steps without branches. The times
// t[0..n) are x. Step k sets t[n + k] from earlier times. y[i] = t[outputs[i]].
struct MaxPlusProgram {
  std::vector<MaxPlusStep> steps;
  std::vector<int32_t> outputs;

  int num_inputs() const { return static_cast<int>(outputs.size()); }
};

// Joins each step that only adds a duration with the maximum before it, if
// nothing else reads that maximum. Removes steps that no output needs.
MaxPlusProgram Simplified(const MaxPlusProgram& program);

// Returns the program for those inputs and outputs i for which a step or
// another output than i reads input i. Sets `read` to these i. A later run
// needs no other output.
MaxPlusProgram OnlyRead(const MaxPlusProgram& program,
                        std::vector<int32_t>& read);

// Sorts the steps so that steps that do not wait for each other follow each
// other. A processor runs such steps at the same time.
MaxPlusProgram SortedByDepth(const MaxPlusProgram& program);

// A time at + k·speed.
template <typename Rep>
struct MovingTime {
  Rep at = 0;
  Rep speed = 0;
};

// Runs one program many times. `Rep`, int64_t or Ticks, represents the times
// relative to a base. With int64_t, runs take half the time, but the times must
// stay within 2^61 ticks of each other. Not thread-safe.
template <typename Rep>
class MaxPlusRunner {
 public:
  // `program` must outlive the runner. `x` has program.num_inputs() elements.
  MaxPlusRunner(const MaxPlusProgram& program, absl::Span<const Ticks> x);

  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

  // False: the times are too far apart. No further run may be made.
  bool fits() const { return fits_; }
  // Returns x. If the first x does not fit, the result is of no use.
  std::vector<Ticks> X() const;
  // A random linear function of x, modulo 2^64. If it is equal for two vectors,
  // they almost certainly are equal.
  uint64_t fingerprint() const { return fingerprint_; }

  // x = M(x).
  void Run();

  // x = M(x), with x as a function of a number k, x + k `speeds`. Sets `speeds`
  // to those of the result. Returns the horizon: the greatest k for which every
  // maximum keeps its winner.
  int64_t RunMoving(std::vector<Ticks>& speeds);

  // x = x + times · speeds. If that does not fit, changes nothing but fits().
  void Move(absl::Span<const Ticks> speeds, int64_t times);

 private:
  // Returns false, and changes nothing, if `x` does not fit.
  bool SetX(absl::Span<const Ticks> x);
  // Makes `next_x_` the input of the next run.
  void Advance();

  const MaxPlusProgram& program_;
  const size_t n_;                 // Inputs.
  Ticks longest_ = 0;              // An upper bound of max M(x) − max x.
  std::vector<uint64_t> weights_;  // In the fingerprint, by input.
  Ticks base_ = 0;                 // All times are relative to it.
  std::vector<Rep> times_;         // Inputs, then the results of the steps.
  std::vector<Rep> next_x_;
  std::vector<MovingTime<Rep>> moving_times_;
  uint64_t fingerprint_ = 0;
  bool fits_ = true;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_MAX_PLUS_PROGRAM_H_
