#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_WHY_NO_PLAN_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_WHY_NO_PLAN_H_

#include <algorithm>
#include <optional>

#include "absl/functional/function_ref.h"
#include "common/base/infinity.h"
#include "common/domain/slice_plan.h"

namespace tangram {

// Returns why a search that ran to its end found no plan. `bytes_short` is the
// least shortage of memory among the plans that it tried, in bytes per GPU.
// Empty if it tried none: all were slower than `limit_s`, or the island's
// limits leave no stage.
Infeasible WhyNoPlan(std::optional<double> bytes_short,
                     double limit_s = kInfinity);

// Sets `infeasible` of an answer without plans; leaves other answers alone.
// `bytes_short` returns what WhyNoPlan takes. It is not called if the answer is
// truncated, because a search that was stopped proves nothing.
void ExplainNoPlan(absl::FunctionRef<std::optional<double>()> bytes_short,
                   double limit_s, SlicePlanSet& answer);

// Lowers `least_short` to `bytes_short`.
inline void NoteShortage(double bytes_short,
                         std::optional<double>& least_short) {
  least_short = std::min(least_short.value_or(bytes_short), bytes_short);
}

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_WHY_NO_PLAN_H_
