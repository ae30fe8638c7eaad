#include "common/domain/plan_merits.h"

#include <algorithm>
#include <random>
#include <vector>

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

TEST(NonDominatedTest, FewerStagesAreNoBetterIfEachDepthIsAskedFor) {
  const SlicePlan one = PlanWith({4}, 1, 5);
  const SlicePlan two = PlanWith({3, 3}, 1, 5);
  const SlicePlan slow_two = PlanWith({5, 5}, 1, 5);
  std::vector<SlicePlan> plans = {one, slow_two};
  KeepNonDominated(plans);
  EXPECT_EQ(plans, std::vector<SlicePlan>{one});
  plans = {one, slow_two};
  KeepNonDominated(plans, /*each_depth=*/true);
  EXPECT_EQ(plans, (std::vector<SlicePlan>{one, slow_two}));
  plans = {two, slow_two};
  KeepNonDominated(plans, /*each_depth=*/true);
  EXPECT_EQ(plans, std::vector<SlicePlan>{two});
}

TEST(NonDominatedTest, AShorterLastStageIsEnoughToStay) {
  const SlicePlan even = PlanWith({3, 3}, 1, 5);
  const SlicePlan short_end = PlanWith({4, 2}, 1, 5);
  const SlicePlan long_end = PlanWith({2, 4}, 1, 5);
  EXPECT_THAT(Kept({even, short_end, long_end}), ElementsAre(0, 1));
}

// A respect in which each plan has one of few values, so that ties are common.
SlicePlan RandomPlan(std::mt19937& random) {
  std::vector<double> times_s(1 + random() % 3);
  for (double& time_s : times_s) time_s = 1.0 + static_cast<int>(random() % 3);
  return PlanWith(times_s, static_cast<int>(random() % 3),
                  static_cast<int>(random() % 3));
}

TEST(AtLeastAsGoodPropertyTest, IsReflexiveAndTransitive) {
  std::mt19937 random(1);
  int num_chains = 0;
  for (int i = 0; i < 20'000; ++i) {
    const PlanMerits a = MeritsOf(RandomPlan(random));
    const PlanMerits b = MeritsOf(RandomPlan(random));
    const PlanMerits c = MeritsOf(RandomPlan(random));
    EXPECT_TRUE(AtLeastAsGood(a, a));
    if (!AtLeastAsGood(a, b) || !AtLeastAsGood(b, c)) continue;
    EXPECT_TRUE(AtLeastAsGood(a, c));
    ++num_chains;
  }
  EXPECT_GT(num_chains, 100);
}

// Every respect, compared one by one.
bool EqualsOrBeats(const SlicePlan& a, const SlicePlan& b) {
  const auto respects = [](const SlicePlan& plan) {
    std::vector<double> all(5);
    for (const SliceStage& stage : plan.stages) {
      all[0] = std::max(all[0], stage.time_s);
      all[1] += stage.time_s;
      all[2] = stage.time_s;
      all[3] = std::max(all[3], stage.sync_s);
    }
    all[4] = static_cast<double>(plan.stages.size());
    all.push_back(-plan.max_trailing_stages);
    return all;
  };
  const std::vector<double> of_a = respects(a);
  const std::vector<double> of_b = respects(b);
  for (size_t i = 0; i < of_a.size(); ++i) {
    if (of_a[i] > of_b[i]) return false;
  }
  return true;
}

TEST(KeepNonDominatedPropertyTest, KeepsWhatNothingBeatsFirstOfEquals) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(round);
    std::vector<SlicePlan> plans(1 + random() % 30);
    for (SlicePlan& plan : plans) plan = RandomPlan(random);
    std::vector<int> expected;
    for (size_t i = 0; i < plans.size(); ++i) {
      bool is_beaten = false;
      for (size_t j = 0; j < plans.size(); ++j) {
        is_beaten |= j != i && EqualsOrBeats(plans[j], plans[i]) &&
                     (j < i || !EqualsOrBeats(plans[i], plans[j]));
      }
      if (!is_beaten) expected.push_back(static_cast<int>(i));
    }
    EXPECT_EQ(Kept(plans), expected);

    std::vector<SlicePlan> kept = plans;
    KeepNonDominated(kept);
    ASSERT_EQ(kept.size(), expected.size());
    for (size_t i = 0; i < kept.size(); ++i) {
      EXPECT_EQ(kept[i], plans[expected[i]]);
    }
  }
}

}  // namespace
}  // namespace tangram
