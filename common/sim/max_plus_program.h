#ifndef TANGRAM_COMMON_SIM_MAX_PLUS_PROGRAM_H_
#define TANGRAM_COMMON_SIM_MAX_PLUS_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/numeric/int128.h"

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

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_MAX_PLUS_PROGRAM_H_
