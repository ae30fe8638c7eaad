#include "coordinator/planners/tangram/pair_store.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/base/infinity.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::SizeIs;

SlicePlan PlanOf(double seconds, int max_trailing_stages) {
  return {.stages = {{.time_s = seconds}},
          .max_trailing_stages = max_trailing_stages};
}

// An answer that covers as many trailing stages as its plans do.
SlicePlanSet AnswerOf(std::vector<SlicePlan> plans) {
  SlicePlanSet answer{.plans = std::move(plans)};
  answer.covers_trailing_stages = answer.plans.front().max_trailing_stages;
  return answer;
}

TEST(PairStoreTest, KeepsAPlanOnceHoweverOftenItIsAnswered) {
  PairStore store(1, 1, 1);
  const PairId pair;
  store.Add(pair, kInfinity, AnswerOf({PlanOf(1, 0), PlanOf(2, 3)}));
  store.Add(pair, kInfinity,
            AnswerOf({PlanOf(2, 3), PlanOf(3, 4), PlanOf(1, 1)}));
  ASSERT_THAT(store.PlansOf(pair), SizeIs(3));
  const std::vector<Candidate>& candidates =
      store.CandidatesOf(pair).candidates;
  ASSERT_THAT(candidates, SizeIs(3));
  for (int p = 0; p < 3; ++p) {
    EXPECT_EQ(store.PlansOf(pair)[p].latency_s(), p + 1);
    EXPECT_EQ(candidates[p].latency_s, p + 1);
  }
  // The same plan with a wider claim raises that of the first.
  EXPECT_EQ(candidates[0].max_trailing_stages, 1);
  EXPECT_EQ(store.PlansOf(pair)[0].max_trailing_stages, 1);
  EXPECT_EQ(candidates[1].max_trailing_stages, 3);
}

TEST(PairStoreTest, AnAnswerIsSharedUntilAnotherJoins) {
  PairStore store(1, 1, 1);
  const SharedAnswer shared{
      .set = std::make_shared<const SlicePlanSet>(AnswerOf({PlanOf(1, 2)})),
      .name = {3, 4}};
  store.Add({}, kInfinity, /*covers_trailing_stages=*/5, shared);
  EXPECT_EQ(store.PlansOf({}).data(), shared.set->plans.data());
  EXPECT_EQ(store.NameOf({}), shared.name);
  EXPECT_EQ(store.CandidatesOf({}).covers_trailing_stages, 5);

  store.Add({}, kInfinity, AnswerOf({PlanOf(1, 6), PlanOf(2, 6)}));
  EXPECT_THAT(store.PlansOf({}), SizeIs(2));
  EXPECT_EQ(store.PlansOf({})[0].max_trailing_stages, 6);
  EXPECT_EQ(store.NameOf({}), SharedAnswer::Name());
  EXPECT_EQ(shared.set->plans[0].max_trailing_stages, 2);
}

// Plans above the first limit may be others with more trailing stages.
TEST(PairStoreTest, AGreaterLimitIsCoveredAsFarAsItsAnswerGoes) {
  PairStore store(1, 1, 1);
  EXPECT_EQ(store.LimitOf({}), 0);
  store.Add({}, 2, AnswerOf({PlanOf(1, 7)}));
  store.Add({}, 2, AnswerOf({PlanOf(2, 5)}));
  EXPECT_EQ(store.CandidatesOf({}).covers_trailing_stages, 7);
  store.Add({}, 3, AnswerOf({PlanOf(3, 4)}));
  EXPECT_EQ(store.CandidatesOf({}).covers_trailing_stages, 4);
  EXPECT_EQ(store.LimitOf({}), 3);
}

TEST(PairStoreTest, PlansOfEqualTimesStayApart) {
  PairStore store(1, 1, 1);
  SlicePlan other = PlanOf(1, 0);
  other.stages.front().sync_s = 1;
  store.Add({}, kInfinity, AnswerOf({PlanOf(1, 0)}));
  store.Add({}, kInfinity, AnswerOf({other}));
  EXPECT_THAT(store.PlansOf({}), SizeIs(2));
}

}  // namespace
}  // namespace tangram
