#ifndef TANGRAM_COMMON_SIM_REPEAT_PROGRAM_H_
#define TANGRAM_COMMON_SIM_REPEAT_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/stop_poll.h"
#include "common/sim/max_plus_program.h"

namespace tangram {

struct RepeatedProgram {
  std::vector<Ticks> x;
  int64_t runs = 0;  // The runs that were not skipped.
};

// Returns M^count(x) for the map M of `program`, in time that rarely grows with
// `count`: runs the program until x repeats itself, and skips the repetitions.
//
// Let x(n) = M^n(x) and v = x(n) − x(n−c) for some c, the period. The runs
// n..n+c are made with x as a function of the number k of skipped periods:
// x(n) + k v. If every time again moves by its v, then
//   x(n + k c) = x(n) + k v
// for every k up to the horizon: the first k at which one of the terms that
// lost a maximum, but moves faster than the winner, overtakes it. Parts of x
// may move at different speeds. The horizon is where they meet.
//
// Periods of more than `max_period` runs are not found. If `poll` stops, the
// result is of no use.
RepeatedProgram RepeatProgram(const MaxPlusProgram& program, int64_t count,
                              size_t max_period, absl::Span<const Ticks> x,
                              StopPoll& poll);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_REPEAT_PROGRAM_H_
