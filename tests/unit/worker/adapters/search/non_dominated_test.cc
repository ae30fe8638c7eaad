#include "worker/adapters/search/non_dominated.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

SlicePlan PlanWith(const std::vector<double>& times_s, double sync_s,
                   int max_trailing_stages) {
  SlicePlan plan = {.max_trailing_stages = max_trailing_stages};
  for (const double time_s : times_s) {
    plan.stages.push_back({.time_s = time_s, .sync_s = sync_s});
  }
  return plan;
}

std::vector<int> Kept(const std::vector<SlicePlan>& plans) {
  std::vector<PlanMerits> merits;
  for (const SlicePlan& plan : plans) merits.push_back(MeritsOf(plan));
  return NonDominated(merits);
}

TEST(NonDominatedTest, OneBetterRespectIsEnoughToStay) {
  const SlicePlan one = PlanWith({4}, 1, 5);
  const SlicePlan faster_stages = PlanWith({3, 3}, 1, 5);
  const SlicePlan bears_more = PlanWith({4.5}, 1, 6);
  const SlicePlan less_sync = PlanWith({4.5}, 0.5, 5);
  const SlicePlan worse = PlanWith({4.5}, 1, 5);
  const SlicePlan equal = PlanWith({4}, 1, 5);

  EXPECT_THAT(Kept({one, faster_stages, bears_more, less_sync, worse, equal}),
              ElementsAre(0, 1, 2, 3));
}

TEST(NonDominatedTest, AShorterLastStageIsEnoughToStay) {
  const SlicePlan even = PlanWith({3, 3}, 1, 5);
  const SlicePlan short_end = PlanWith({4, 2}, 1, 5);
  const SlicePlan long_end = PlanWith({2, 4}, 1, 5);
  EXPECT_THAT(Kept({even, short_end, long_end}), ElementsAre(0, 1));
}

}  // namespace
}  // namespace tangram
