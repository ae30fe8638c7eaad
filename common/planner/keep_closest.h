#ifndef TANGRAM_COMMON_PLANNER_KEEP_CLOSEST_H_
#define TANGRAM_COMMON_PLANNER_KEEP_CLOSEST_H_

#include <optional>

#include "common/domain/slice_plan.h"

namespace tangram {

// Returns whether `a` came closer to a plan than `b`. Fewer bytes short are
// closer. A reason that lacks no memory is farther than all that do, because
// nobody can add what it lacks.
inline bool IsCloser(const Infeasible& a, const Infeasible& b) {
  if (a.bytes_short <= 0) return false;
  return b.bytes_short <= 0 || a.bytes_short < b.bytes_short;
}

// Keeps in `closest` the reason that came closest to a plan; of equal ones, the
// first.
inline void KeepClosest(const std::optional<Infeasible>& other,
                        std::optional<Infeasible>& closest) {
  if (!other.has_value()) return;
  if (!closest.has_value() || IsCloser(*other, *closest)) closest = other;
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_KEEP_CLOSEST_H_
