#ifndef TANGRAM_COMMON_SIM_REPEAT_PROGRAM_H_
#define TANGRAM_COMMON_SIM_REPEAT_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/stop_poll.h"
#include "common/sim/max_plus_program.h"

namespace tangram {

struct RepeatedProgram {
  std::vector<Ticks> x;
  int64_t runs = 0;  // The runs that were made.
};

// Returns M^count(x) for the map M of `program`, in time that does not grow
// with `count`.
//
// Times after many runs are lengths of longest walks: x_i(N) is the greatest
// length of a walk of N runs through the program that ends at i, plus the time
// at its start (Baccelli et al., "Synchronization and Linearity", 1992). Let Z
// be the slowest cycle, of c runs in W ticks. A walk that visits Z can be made
// longer by c runs and W ticks, and loses nothing against the others. So the
// longest walk of N runs that visits Z is the longest one of N mod c runs, at a
// pace of W / c, plus turns of Z. Walks that do not visit Z are found in the
// same way without the inputs of Z, and so on, until the pace of the rest is
// too fast to reach what was found (compare CSR expansions: Merlet, Nowak,
// Sergeev, "Weak CSR expansions and transience bounds in max-plus algebra",
// 2014).
//
// Cycles of one run that are nearly as slow as Z are visited with Z. A walk to
// one of them is charged for the N turns that are missing. This adds an error
// of at most 1e-10 of the result. Otherwise the result is exact.
//
// If `poll` stops, the result is of no use.
RepeatedProgram RepeatProgram(const MaxPlusProgram& program, int64_t count,
                              absl::Span<const Ticks> x, StopPoll& poll);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_REPEAT_PROGRAM_H_
