#include "coordinator/planners/judge/kept_plans.h"

#include <random>
#include <vector>

#include "coordinator/planners/judge/choose_islands.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

KeptPlan PlanOf(int index, double seconds) {
  return {.index = index, .evaluation = {.iteration_time_s = seconds}};
}

TEST(KeptPlansTest, HoldThePlanThatIsChosenAfterEveryProposal) {
  constexpr double kGain = 0.03;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    std::uniform_real_distribution<double> seconds(1, 1.2);
    KeptPlans kept(kGain);
    std::vector<ScoredPipeline> all;
    for (int i = 0; i < 40; ++i) {
      all.push_back({1 + static_cast<uint32_t>(rng() % 15), seconds(rng)});
      kept.Add(all.back().islands, PlanOf(i, all.back().iteration_time_s));
      KeptPlans now = kept;
      const int chosen = ChooseIslands(all, kGain);
      const KeptPlan plan = now.Take(chosen);
      EXPECT_EQ(plan.index, chosen);
      EXPECT_EQ(plan.evaluation.iteration_time_s, all[chosen].iteration_time_s);
    }
  }
}

TEST(KeptPlansTest, HoldOnePlanForEachSetOfIslands) {
  KeptPlans kept(0.5);
  for (int i = 0; i < 1000; ++i) kept.Add(0b01, PlanOf(i, 2 + 0.001 * i));
  EXPECT_EQ(kept.size(), 1);
  kept.Add(0b10, PlanOf(1000, 1.9));
  EXPECT_EQ(kept.size(), 2);
  kept.Add(0b11, PlanOf(1001, 1));
  EXPECT_EQ(kept.size(), 1);
}

}  // namespace
}  // namespace tangram
