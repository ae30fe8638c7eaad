#ifndef TANGRAM_COMMON_DOMAIN_PLAN_MERITS_H_
#define TANGRAM_COMMON_DOMAIN_PLAN_MERITS_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/slice_plan.h"

namespace tangram {

// Everything that the composition weighs about a slice plan. Less is better,
// except for max_trailing_stages.
struct PlanMerits {
  double slowest_stage_s = 0;
  double latency_s = 0;
  double last_stage_s = 0;  // A transfer to the next slice adds to it.
  double most_sync_s = 0;   // Largest synchronisation of a stage.
  int num_stages = 0;
  int max_trailing_stages = 0;
  // Whether a plan of fewer stages is of no use in its place; see
  // StageLimits::each_depth.
  bool each_depth = false;
};

// `plan` must have a stage.
PlanMerits MeritsOf(const SlicePlan& plan, bool each_depth = false);

// The order of slice plans: returns whether `a` equals or beats `b` in every
// respect. Reflexive and transitive.
bool AtLeastAsGood(const PlanMerits& a, const PlanMerits& b);

// Returns the indices, ascending, of the plans that no other equals or beats in
// every respect. The first of equals is kept. O(plans · kept).
std::vector<int> NonDominated(absl::Span<const PlanMerits> merits);

// Drops the other plans. The order stays.
void KeepNonDominated(std::vector<SlicePlan>& plans, bool each_depth = false);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_PLAN_MERITS_H_
