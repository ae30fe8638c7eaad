#include "common/parallelizer/keep_within.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SlicePlan Bearing(int trailing_stages, StageParallelism parallelism = {}) {
  return {.stages = {{.plan = {.end = {1, 0},
                               .parallelism = parallelism,
                               .recompute = {{1, kRecomputeNone}}}}},
          .max_trailing_stages = trailing_stages};
}

ModelSlice OneLayer() {
  return MakeSlice({0, 1}, {testing::TestModel(1).layers[1]});
}

TEST(SettleCoverageTest, APlanIsReusedForAsManyStagesAsItBears) {
  SlicePlanSet answer{.plans = {Bearing(7), Bearing(3)}};
  SettleCoverage(/*asked_trailing_stages=*/1, answer);
  EXPECT_EQ(answer.covers_trailing_stages, 3);
}

TEST(SettleCoverageTest, WhatWasAskedIsCovered) {
  SlicePlanSet answer{.plans = {Bearing(2)}};
  SettleCoverage(/*asked_trailing_stages=*/5, answer);
  EXPECT_EQ(answer.covers_trailing_stages, 5);
}

TEST(SettleCoverageTest, NothingFitsWithMoreStagesEither) {
  SlicePlanSet answer;
  SettleCoverage(0, answer);
  EXPECT_EQ(answer.covers_trailing_stages, kUnlimitedTrailingStages);
}

TEST(SettleCoverageTest, ADroppedPlanStillSaysWhereToAskAgain) {
  SlicePlanSet answer{.plans = {Bearing(2, {.dp_degree = 2}), Bearing(9)}};
  SettleCoverage(0, answer);
  EXPECT_EQ(KeepWithin({.dp_degree = 1}, OneLayer(), answer), 1);
  ASSERT_THAT(answer.plans, SizeIs(1));
  EXPECT_EQ(answer.covers_trailing_stages, 2);
}

TEST(KeepRunnableTest, DropsWhatTheRuntimeCannotRun) {
  const Runtime narrow = {.name = "narrow", .context_parallel = true};
  SlicePlanSet answer{.plans = {Bearing(0, {.dp_degree = 2}),
                                Bearing(0, {.dp_degree = 2, .zero_stage = 1}),
                                Bearing(0, {.cp_degree = 2})}};
  KeepRunnable(narrow, OneLayer(), answer);
  EXPECT_THAT(answer.plans, SizeIs(2));
  EXPECT_FALSE(answer.infeasible.has_value());
}

// Two microbatches of a stage that takes t seconds take 2 t.
TEST(KeepUsefulTest, DropsWhatTakesLongerThanTheLimit) {
  SlicePlanSet answer{.plans = {Bearing(3), Bearing(5)},
                      .covers_trailing_stages = 0};
  answer.plans[0].stages.front().time_s = 2;
  answer.plans[1].stages.front().time_s = 1;
  ParallelizeOptions options{.training = {.global_batch_size = 2},
                             .limit_s = 2};
  KeepUseful(options, answer);
  ASSERT_THAT(answer.plans, SizeIs(1));
  EXPECT_EQ(answer.plans[0].stages.front().time_s, 1);
  EXPECT_FALSE(answer.infeasible.has_value());
  // Another plan may be in the place of the one dropped from 4 on.
  EXPECT_EQ(answer.covers_trailing_stages, 3);
  options.limit_s = 1.9;
  KeepUseful(options, answer);
  EXPECT_THAT(answer.plans, IsEmpty());
  EXPECT_TRUE(answer.infeasible.has_value());
}

TEST(KeepRunnableTest, SaysWhatTheRuntimeLacksWhereNothingIsLeft) {
  const Runtime narrow = {.name = "narrow"};
  SlicePlanSet answer{.plans = {Bearing(0, {.cp_degree = 2})}};
  KeepRunnable(narrow, OneLayer(), answer);
  EXPECT_THAT(answer.plans, IsEmpty());
  ASSERT_TRUE(answer.infeasible.has_value());
  EXPECT_THAT(answer.infeasible->reason, HasSubstr("narrow cannot run"));
}

}  // namespace
}  // namespace tangram
