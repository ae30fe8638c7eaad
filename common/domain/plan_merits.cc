#include "common/domain/plan_merits.h"

#include <algorithm>
#include <utility>

#include "common/base/insert_non_dominated.h"

namespace tangram {

PlanMerits MeritsOf(const SlicePlan& plan, bool each_depth) {
  double most_sync_s = 0;
  for (const SliceStage& stage : plan.stages) {
    most_sync_s = std::max(most_sync_s, stage.sync_s);
  }
  return {.slowest_stage_s = plan.slowest_stage_s(),
          .latency_s = plan.latency_s(),
          .last_stage_s = plan.stages.back().time_s,
          .most_sync_s = most_sync_s,
          .num_stages = plan.num_stages(),
          .max_trailing_stages = plan.max_trailing_stages,
          .each_depth = each_depth};
}

bool AtLeastAsGood(const PlanMerits& a, const PlanMerits& b) {
  return a.slowest_stage_s <= b.slowest_stage_s && a.latency_s <= b.latency_s &&
         a.last_stage_s <= b.last_stage_s && a.most_sync_s <= b.most_sync_s &&
         a.num_stages <= b.num_stages &&
         (!b.each_depth || a.num_stages == b.num_stages) &&
         a.max_trailing_stages >= b.max_trailing_stages;
}

std::vector<int> NonDominated(absl::Span<const PlanMerits> merits) {
  const auto law = [merits](int a, int b) {
    return AtLeastAsGood(merits[a], merits[b]);
  };
  std::vector<int> kept;
  for (int i = 0; i < static_cast<int>(merits.size()); ++i) {
    InsertNonDominated(i, law, kept);
  }
  return kept;
}

void KeepNonDominated(std::vector<SlicePlan>& plans, bool each_depth) {
  std::vector<PlanMerits> merits;
  merits.reserve(plans.size());
  for (const SlicePlan& plan : plans)
    merits.push_back(MeritsOf(plan, each_depth));
  std::vector<SlicePlan> kept;
  for (const int i : NonDominated(merits)) kept.push_back(std::move(plans[i]));
  plans = std::move(kept);
}

}  // namespace tangram
