#ifndef TANGRAM_COMMON_DOMAIN_SLICE_PLAN_H_
#define TANGRAM_COMMON_DOMAIN_SLICE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/domain/stage_plan.h"

namespace tangram {

// The reason for having no plan. A normal answer, never an error.
struct Infeasible {
  std::string reason;  // "does not fit in memory", "no dp degree divides 3"
  // Per GPU, for the plan that came closest. 0: memory is not the reason.
  double bytes_short = 0;
  bool operator==(const Infeasible&) const = default;
};

// One stage of a slice plan with the parallelizer's own estimate.
struct SliceStage {
  StagePlan plan;
  // Forward + backward + recomputation of one pipeline microbatch. Includes
  // transfers to and from the next stage of the same slice.
  double time_s = 0;
  double backward_s = 0;  // The backward share of time_s.
  double sync_s = 0;      // Gradient reduction and optimizer step, once.
  bool operator==(const SliceStage&) const = default;
};

// How to run a slice on an island: at least one stage, in pipeline order.
struct SlicePlan {
  std::vector<SliceStage> stages;
  // The largest number of stages after the slice with which it still fits in
  // memory under 1F1B; stage i of n holds min(n - i + trailing, B)
  // microbatches.
  int max_trailing_stages = 0;
  std::string made_by;  // The parallelizer's name.

  int num_stages() const { return static_cast<int>(stages.size()); }
  double slowest_stage_s() const;
  double latency_s() const;  // Sum of the stage times.
  bool operator==(const SlicePlan&) const = default;
};

// Any number of stages may follow.
inline constexpr int kUnlimitedTrailingStages = 1 << 20;

// A parallelizer's answer for one pair. No plan is better than another in every
// respect (slowest stage, latency, last stage, number of stages, trailing
// stages that fit). Empty: nothing fits, and `infeasible` says why.
struct SlicePlanSet {
  std::vector<SlicePlan> plans;
  std::optional<Infeasible> infeasible;
  // A repeated query with up to this many trailing stages would return no plan
  // that is not in `plans`. It is kUnlimitedTrailingStages if `plans` is the
  // whole Pareto set over trailing stages. If nothing fits, nothing fits with
  // more trailing stages either.
  int covers_trailing_stages = 0;
  int64_t search_steps = 0;  // Effort spent, in the adapter's own steps.
  bool truncated = false;    // Cut short by a time limit or cancellation.
  bool operator==(const SlicePlanSet&) const = default;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_SLICE_PLAN_H_
