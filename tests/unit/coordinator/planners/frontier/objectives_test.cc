#include "coordinator/planners/frontier/objectives.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::DoubleNear;
using ::testing::Eq;
using ::testing::Optional;

ObjectiveTerms TwoGroups() {
  return {.groups = {{.node_hour_price = 36, .gpus_per_node = 4},
                     {.node_hour_price = 18, .gpus_per_node = 2}},
          .tokens_per_iteration = 2000};
}

constexpr double kClose = 1e-9;

TEST(EvaluateObjectivesTest, PricesFollowTimeAndNodes) {
  ObjectiveTerms terms = TwoGroups();
  terms.tokens = 36e6;
  const ObjectiveValues values =
      Evaluate(terms, {.nodes = {1, 2}, .iteration_time_s = 2});
  EXPECT_EQ(values.tokens_per_s, 1000);
  EXPECT_THAT(values.price_per_hour, Optional(72.0));  // 36 + 2 · 18.
  // 72 an hour are 0.02 a second, for 1,000 tokens.
  EXPECT_THAT(values.price_per_iteration, Optional(DoubleNear(0.04, kClose)));
  EXPECT_THAT(values.price_per_million_tokens,
              Optional(DoubleNear(20, kClose)));
  EXPECT_THAT(values.tokens_per_price, Optional(DoubleNear(50'000, 1e-6)));
  EXPECT_THAT(values.hours, Optional(DoubleNear(10, kClose)));
  EXPECT_THAT(values.total_price, Optional(DoubleNear(720, 1e-6)));
  EXPECT_EQ(values.kwh_per_iteration, std::nullopt);
}

TEST(EvaluateObjectivesTest, GroupsWithoutNodesNeedNoPrice) {
  ObjectiveTerms terms = TwoGroups();
  terms.groups[1].node_hour_price.reset();
  EXPECT_THAT(
      Evaluate(terms, {.nodes = {1, 0}, .iteration_time_s = 1}).price_per_hour,
      Optional(36.0));
  EXPECT_EQ(
      Evaluate(terms, {.nodes = {1, 1}, .iteration_time_s = 1}).price_per_hour,
      std::nullopt);
}

TEST(EvaluateObjectivesTest, FailuresTakeTimeByYoungsInterval) {
  ObjectiveTerms terms = TwoGroups();
  terms.tokens = 3.6e6;
  terms.groups[0].failures_per_hour = 0.36;
  terms.checkpoint_s = 50;
  terms.restart_s = 1000;
  const ObjectiveValues values =
      Evaluate(terms, {.nodes = {1, 0}, .iteration_time_s = 2});
  // λ = 1e-4 a second, τ = √(2 · 50 / 1e-4) = 1000 s, and
  // φ = 1 − 50/1000 − 1e-4 · (500 + 1000) = 0.8.
  EXPECT_THAT(values.checkpoint_interval_s, Optional(DoubleNear(1000, 1e-6)));
  EXPECT_NEAR(values.progress, 0.8, kClose);
  EXPECT_THAT(values.hours, Optional(DoubleNear(1 / 0.8, kClose)));
  EXPECT_THAT(values.total_price, Optional(DoubleNear(45, 1e-6)));
}

TEST(EvaluateObjectivesTest, NodesThatFailTooOftenGetNowhere) {
  ObjectiveTerms terms = TwoGroups();
  terms.tokens = 1e6;
  terms.groups[0].failures_per_hour = 10;
  terms.restart_s = 3600;
  const ObjectiveValues values =
      Evaluate(terms, {.nodes = {1, 0}, .iteration_time_s = 2});
  EXPECT_FALSE(values.makes_progress());
  EXPECT_EQ(values.hours, std::nullopt);
  EXPECT_EQ(values.price_per_hour, std::nullopt);
}

TEST(EvaluateObjectivesTest, EnergyIsOfIdleAndBusyGpus) {
  ObjectiveTerms terms = TwoGroups();
  terms.groups[0].idle_w = 50;
  terms.groups[0].busy_w = 250;
  terms.power_usage_effectiveness = 1.5;
  terms.grams_per_kwh = 300;
  const PlannedAllocation allocation{
      .nodes = {2, 0}, .iteration_time_s = 3, .busy_gpu_s = {12, 0}};
  const ObjectiveValues values = Evaluate(terms, allocation);
  // 8 GPUs · 3 s · 50 W + 12 GPU-seconds · 200 W = 3,600 J; · 1.5.
  EXPECT_THAT(values.kwh_per_iteration,
              Optional(DoubleNear(5400 / 3.6e6, 1e-12)));
  EXPECT_THAT(values.kwh_per_million_tokens,
              Optional(DoubleNear(0.75, kClose)));
  EXPECT_THAT(values.grams_per_million_tokens, Optional(DoubleNear(225, 1e-6)));
  // The power of the other group is not known.
  EXPECT_EQ(
      Evaluate(terms,
               {.nodes = {2, 1}, .iteration_time_s = 3, .busy_gpu_s = {12, 1}})
          .kwh_per_iteration,
      std::nullopt);
}

TEST(EvaluateObjectivesTest, CertaintyMakesTimesLonger) {
  ObjectiveTerms terms = TwoGroups();
  terms.tokens = 7.2e6;
  const PlannedAllocation allocation{
      .nodes = {1, 0}, .iteration_time_s = 2, .band_high = 1.25};
  EXPECT_THAT(Evaluate(terms, allocation).hours_at_certainty,
              Optional(Eq(2.0)));
  terms.certainty = 0.95;
  EXPECT_THAT(Evaluate(terms, allocation).hours_at_certainty,
              Optional(DoubleNear(2.5, kClose)));
}

TEST(NormalQuantileTest, IsOffByLittle) {
  EXPECT_NEAR(NormalQuantile(0.95), 1.6449, 5e-4);
  EXPECT_NEAR(NormalQuantile(0.05), -1.6449, 5e-4);
  EXPECT_NEAR(NormalQuantile(0.999), 3.0902, 5e-4);
}

}  // namespace
}  // namespace tangram
