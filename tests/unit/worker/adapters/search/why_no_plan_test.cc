#include "worker/adapters/search/why_no_plan.h"

#include <optional>

#include "common/parallelizer/keep_within.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram {
namespace {

using ::testing::StrEq;

constexpr double kLimitS = 2;

SlicePlanSet Explained(std::optional<double> bytes_short, double limit_s,
                       bool truncated = false) {
  SlicePlanSet answer = {.truncated = truncated};
  ExplainNoPlan([&] { return bytes_short; }, limit_s, answer);
  return answer;
}

TEST(WhyNoPlanTest, NamesTheShortageOfMemory) {
  for (const double limit_s : {kInfinity, kLimitS}) {
    const SlicePlanSet answer = Explained(3e9, limit_s);
    EXPECT_THAT(answer.infeasible->reason, StrEq("does not fit in memory"));
    EXPECT_EQ(answer.infeasible->bytes_short, 3e9);
  }
}

TEST(WhyNoPlanTest, NothingTriedWithinALimitWasTooSlow) {
  EXPECT_THAT(Explained(std::nullopt, kLimitS).infeasible->reason,
              StrEq(kNotFastEnough));
  EXPECT_THAT(Explained(0, kLimitS).infeasible->reason, StrEq(kNotFastEnough));
}

TEST(WhyNoPlanTest, NothingTriedWithoutALimitHadNoStage) {
  EXPECT_THAT(Explained(std::nullopt, kInfinity).infeasible->reason,
              StrEq(kNoStageWithinLimits));
}

TEST(WhyNoPlanTest, StoppedSearchesProveNothing) {
  for (const double limit_s : {kInfinity, kLimitS}) {
    const SlicePlanSet answer = Explained(3e9, limit_s, /*truncated=*/true);
    EXPECT_THAT(answer.infeasible->reason, StrEq("stopped before any plan"));
    EXPECT_EQ(answer.infeasible->bytes_short, 0);
  }
}

TEST(WhyNoPlanTest, AnswersWithPlansNeedNoReason) {
  SlicePlanSet answer = {.plans = {SlicePlan()}};
  ExplainNoPlan([] { return std::nullopt; }, kInfinity, answer);
  EXPECT_FALSE(answer.infeasible.has_value());
}

}  // namespace
}  // namespace tangram
