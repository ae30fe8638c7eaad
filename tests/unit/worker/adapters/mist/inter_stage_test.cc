#include "worker/adapters/mist/inter_stage.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram::mist {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kInfeasible = std::numeric_limits<double>::infinity();

// The policies of each (stage, begin, end); none for all others.
struct Table {
  int num_layers = 0;
  int num_stages = 0;
  std::map<std::tuple<int, int, int>, std::vector<StagePolicy>> policies;
  double transfer_s = 0;  // After every stage but the last.

  StageOption At(int stage, int begin, int end) const {
    const auto found = policies.find({stage, begin, end});
    if (found == policies.end()) return {};
    return {.policies = found->second,
            .transfer_s = stage + 1 < num_stages ? transfer_s : 0};
  }

  std::vector<StagedPipeline> Choose(
      double slowest_bound_s = kInfeasible) const {
    return ChoosePolicies(
        {.num_layers = num_layers,
         .num_stages = num_stages,
         .option = [this](int s, int b, int e) { return At(s, b, e); },
         .slowest_bound_s = slowest_bound_s});
  }
};

double Least(const std::vector<StagedPipeline>& pipelines,
             int num_microbatches) {
  double least = kInfeasible;
  for (const StagedPipeline& pipeline : pipelines) {
    least = std::min(least, pipeline.IterationSeconds(num_microbatches));
  }
  return least;
}

TEST(ChoosePoliciesTest, OneStagePaysForItsFirstAndLastMicrobatch) {
  const Table table = {
      .num_layers = 2, .num_stages = 1, .policies = {{{0, 0, 2}, {{2, 3}}}}};

  // 4 · 2 + 3.
  EXPECT_EQ(Least(table.Choose(), 4), 11);
}

TEST(ChoosePoliciesTest, EarlierStagesHideWhatComesOnTop) {
  const Table table = {
      .num_layers = 2,
      .num_stages = 2,
      .policies = {{{0, 0, 1}, {{2, 1}}}, {{1, 1, 2}, {{3, 5}}}}};

  // The first stage's 2 hide 2 of the second stage's 5: 3·3 + (2 + 3) + 3.
  EXPECT_EQ(Least(table.Choose(), 4), 17);
}

TEST(ChoosePoliciesTest, WhatIsBestDependsOnTheNumberOfMicrobatches) {
  const Table table = {.num_layers = 1,
                       .num_stages = 1,
                       .policies = {{{0, 0, 1}, {{2, 10}, {3, 0}}}}};

  const std::vector<StagedPipeline> pipelines = table.Choose();

  ASSERT_THAT(pipelines, SizeIs(2));
  EXPECT_EQ(Least(pipelines, 2), 6);    // 2 · 3 against 2 · 2 + 10.
  EXPECT_EQ(Least(pipelines, 16), 42);  // 16 · 2 + 10 against 16 · 3.
}

TEST(ChoosePoliciesTest, LayersGoWhereTheSlowestStageIsFastest) {
  Table table = {.num_layers = 3, .num_stages = 2};
  for (int cut = 1; cut < 3; ++cut) {
    // The second stage is twice as fast.
    table.policies[{0, 0, cut}] = {{2.0 * cut, 0}};
    table.policies[{1, cut, 3}] = {{3.0 - cut, 0}};
  }

  const std::vector<StagedPipeline> pipelines = table.Choose();

  // Cut at 1: 2 and 2. Cut at 2: 4 and 1, which is better only in the last
  // stage.
  ASSERT_THAT(pipelines, SizeIs(2));
  EXPECT_THAT(pipelines[0].stages,
              ElementsAre(StageChoice{1, 0}, StageChoice{3, 0}));
  EXPECT_EQ(pipelines[0].slowest_s, 2);
  EXPECT_EQ(pipelines[0].span_s, 4);
  EXPECT_EQ(pipelines[1].last_s, 1);
}

TEST(ChoosePoliciesTest, StagesPayForTheirTransfers) {
  const Table table = {
      .num_layers = 2,
      .num_stages = 2,
      .policies = {{{0, 0, 1}, {{2, 0}}}, {{1, 1, 2}, {{2, 0}}}},
      .transfer_s = 0.5};

  const std::vector<StagedPipeline> pipelines = table.Choose();

  ASSERT_THAT(pipelines, SizeIs(1));
  EXPECT_EQ(pipelines[0].slowest_s, 2.5);
  EXPECT_EQ(pipelines[0].span_s, 4.5);
  EXPECT_EQ(pipelines[0].last_s, 2);
}

TEST(ChoosePoliciesTest, NothingIsSlowerThanTheBound) {
  const Table table = {.num_layers = 1,
                       .num_stages = 1,
                       .policies = {{{0, 0, 1}, {{2, 10}, {3, 0}}}}};

  EXPECT_THAT(table.Choose(3), SizeIs(2));
  EXPECT_THAT(table.Choose(2.5), SizeIs(1));
  EXPECT_THAT(table.Choose(1), IsEmpty());
}

TEST(ChoosePoliciesTest, StagesThatNothingFitsHaveNoPipeline) {
  const Table table = {
      .num_layers = 2, .num_stages = 2, .policies = {{{0, 0, 1}, {{2, 1}}}}};

  EXPECT_THAT(table.Choose(), IsEmpty());
}

TEST(DistinctPipelinesTest, TheBestComesFirstAndAlmostEqualsAreLeftOut) {
  const std::vector<StagedPipeline> all = {
      {.slowest_s = 1, .span_s = 10, .last_s = 1},
      {.slowest_s = 1.001, .span_s = 9.99, .last_s = 1},
      {.slowest_s = 2, .span_s = 5, .last_s = 2},
      {.slowest_s = 2.001, .span_s = 5, .last_s = 1.5}};

  // For 4 microbatches: 13, 12.993, 11, 11.003. For 100, the first is best.
  const auto few = DistinctPipelines(all, 4);
  const auto many = DistinctPipelines(all, 100);

  ASSERT_THAT(few, SizeIs(3));
  EXPECT_EQ(few[0].slowest_s, 2);
  EXPECT_EQ(few[1].slowest_s, 1);
  EXPECT_EQ(few[2].last_s, 1.5);
  ASSERT_THAT(many, SizeIs(3));
  EXPECT_EQ(many[0].slowest_s, 1);
  EXPECT_THAT(DistinctPipelines({}, 4), IsEmpty());
}

// Tries every choice of cuts and policies, by the formula as the paper states
// it.
double ExhaustivePolicies(const Table& table, int num_microbatches, int stage,
                          int begin, double sum_s, double slowest_s,
                          double delta_s) {
  if (stage == table.num_stages) {
    return begin == table.num_layers
               ? (num_microbatches - 1) * slowest_s + sum_s + delta_s
               : kInfeasible;
  }
  double least = kInfeasible;
  for (int end = begin + 1; end <= table.num_layers; ++end) {
    const StageOption option = table.At(stage, begin, end);
    for (const StagePolicy& policy : option.policies) {
      const double steady_s = policy.steady_s + option.transfer_s;
      least = std::min(
          least,
          ExhaustivePolicies(table, num_microbatches, stage + 1, end,
                             sum_s + steady_s, std::max(slowest_s, steady_s),
                             std::max(delta_s, policy.extra_s - sum_s)));
    }
  }
  return least;
}

Table RandomTable(std::mt19937& random) {
  const auto draw = [&](int most) {
    return std::uniform_int_distribution<int>(0, most)(random);
  };
  Table table = {.num_layers = 1 + draw(7), .transfer_s = draw(3) / 4.0};
  table.num_stages = 1 + draw(std::min(3, table.num_layers - 1));
  for (int stage = 0; stage < table.num_stages; ++stage) {
    for (int begin = 0; begin < table.num_layers; ++begin) {
      for (int end = begin + 1; end <= table.num_layers; ++end) {
        std::vector<StagePolicy> policies(draw(3));
        for (StagePolicy& policy : policies) {
          policy = {(end - begin) * (4.0 + draw(8)), 1.0 * draw(60)};
        }
        table.policies[{stage, begin, end}] = policies;
      }
    }
  }
  return table;
}

TEST(ChoosePoliciesTest, FindsTheBestOfAllPipelines) {
  int feasible = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const Table table = RandomTable(random);
    const std::vector<StagedPipeline> pipelines = table.Choose();

    for (const int num_microbatches : {1, 2, 5, 40}) {
      const double least =
          ExhaustivePolicies(table, num_microbatches, 0, 0, 0, 0, 0);
      EXPECT_EQ(Least(pipelines, num_microbatches), least);
    }
    feasible += pipelines.empty() ? 0 : 1;
  }
  EXPECT_GT(feasible, 100);
  EXPECT_LT(feasible, 200);
}

// The figures of a pipeline are those of its choices.
TEST(ChoosePoliciesTest, FiguresFollowFromTheChoices) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const Table table = RandomTable(random);
    for (const StagedPipeline& pipeline : table.Choose()) {
      double sum_s = 0;
      double delta_s = 0;
      double slowest_s = 0;
      int begin = 0;
      for (int stage = 0; stage < table.num_stages; ++stage) {
        const StageChoice& choice = pipeline.stages[stage];
        const StageOption option = table.At(stage, begin, choice.end);
        const StagePolicy& policy = option.policies[choice.policy];
        delta_s = std::max(delta_s, policy.extra_s - sum_s);
        sum_s += policy.steady_s + option.transfer_s;
        slowest_s = std::max(slowest_s, policy.steady_s + option.transfer_s);
        begin = choice.end;
      }
      EXPECT_EQ(begin, table.num_layers);
      EXPECT_EQ(pipeline.slowest_s, slowest_s);
      EXPECT_DOUBLE_EQ(pipeline.span_s, sum_s + delta_s);
    }
  }
}

}  // namespace
}  // namespace tangram::mist
