#include "worker/adapters/search/non_dominated.h"

#include <algorithm>

namespace tangram {

bool PlanMerits::AtLeastAsGoodAs(const PlanMerits& other) const {
  return slowest_stage_s <= other.slowest_stage_s &&
         latency_s <= other.latency_s && last_stage_s <= other.last_stage_s &&
         most_sync_s <= other.most_sync_s && num_stages <= other.num_stages &&
         max_trailing_stages >= other.max_trailing_stages;
}

PlanMerits MeritsOf(const SlicePlan& plan) {
  double most_sync_s = 0;
  for (const SliceStage& stage : plan.stages) {
    most_sync_s = std::max(most_sync_s, stage.sync_s);
  }
  return {.slowest_stage_s = plan.slowest_stage_s(),
          .latency_s = plan.latency_s(),
          .last_stage_s = plan.stages.back().time_s,
          .most_sync_s = most_sync_s,
          .num_stages = plan.num_stages(),
          .max_trailing_stages = plan.max_trailing_stages};
}

// O(n²) comparisons. If two plans are equal, the one with the higher index
// counts as dominated.
std::vector<int> NonDominated(absl::Span<const PlanMerits> merits) {
  const int num_plans = static_cast<int>(merits.size());
  std::vector<int> kept;
  for (int i = 0; i < num_plans; ++i) {
    bool dominated = false;
    for (int j = 0; j < num_plans && !dominated; ++j) {
      dominated = j != i && merits[j].AtLeastAsGoodAs(merits[i]) &&
                  (j < i || !merits[i].AtLeastAsGoodAs(merits[j]));
    }
    if (!dominated) kept.push_back(i);
  }
  return kept;
}

}  // namespace tangram
