#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_WHY_NO_PLAN_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_WHY_NO_PLAN_H_

#include <algorithm>
#include <optional>

#include "common/base/infinity.h"
#include "common/domain/slice_plan.h"
#include "common/parallelizer/keep_within.h"

namespace tangram {

// Returns why a search found no plan. `bytes_short` is the least shortage of
// memory among the plans that it tried, per GPU. Empty if it was stopped before
// it tried one, or left all out because of `limit_s`.
inline Infeasible WhyNoPlan(std::optional<double> bytes_short,
                            double limit_s = kInfinity) {
  if (limit_s < kInfinity && bytes_short.value_or(0) <= 0) {
    return {.reason = kNotFastEnough};
  }
  if (!bytes_short.has_value()) return {.reason = "stopped before any plan"};
  return {.reason = "does not fit in memory", .bytes_short = *bytes_short};
}

// Lowers `least_short` to `bytes_short`.
inline void NoteShortage(double bytes_short,
                         std::optional<double>& least_short) {
  least_short = std::min(least_short.value_or(bytes_short), bytes_short);
}

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_WHY_NO_PLAN_H_
