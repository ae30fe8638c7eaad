#include "cli/validation/score.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/measured_runs.h"

namespace tangram {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Field;
using testing::GptRun;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pointee;
using testing::Took;

constexpr double kExact = 1e-12;

MeasuredRun RanOutOfMemory() {
  MeasuredRun run = GptRun();
  run.flag = "OOM";
  return run;
}

TEST(SummarizeErrorsTest, OfAnOddNumber) {
  const ErrorSummary summary = SummarizeErrors({0.5, -0.1, 0.2});

  EXPECT_EQ(summary.n, 3);
  EXPECT_NEAR(summary.mean_abs, 0.8 / 3, kExact);
  EXPECT_NEAR(summary.median_abs, 0.2, kExact);
  EXPECT_NEAR(summary.bias, 0.6 / 3, kExact);
}

TEST(SummarizeErrorsTest, OfAnEvenNumber) {
  const ErrorSummary summary = SummarizeErrors({-0.4, 0.1, -0.3, 0.2});

  EXPECT_EQ(summary.n, 4);
  EXPECT_NEAR(summary.mean_abs, 0.25, kExact);
  EXPECT_NEAR(summary.median_abs, 0.25, kExact);  // 0.1 0.2 0.3 0.4.
  EXPECT_NEAR(summary.bias, -0.1, kExact);        // −0.4 / 4.
}

TEST(SummarizeErrorsTest, OfNone) {
  const ErrorSummary summary = SummarizeErrors({});

  EXPECT_EQ(summary.n, 0);
  EXPECT_EQ(summary.mean_abs, 0);
}

TEST(KendallTauTest, OfEqualAndOppositeOrders) {
  const std::vector<double> rising = {1, 2, 3, 4};
  const std::vector<double> falling = {9, 7, 5, 3};

  EXPECT_NEAR(KendallTau(rising, rising), 1, kExact);
  EXPECT_NEAR(KendallTau(rising, falling), -1, kExact);
}

TEST(KendallTauTest, CountsPairsThatAgree) {
  const std::vector<double> a = {1, 2, 3, 4};
  const std::vector<double> b = {1, 3, 2, 4};

  // Five of six pairs agree and one does not: (5 − 1) / 6.
  EXPECT_NEAR(KendallTau(a, b), 4.0 / 6, kExact);
}

TEST(KendallTauTest, DiscountsTies) {
  const std::vector<double> a = {1, 1, 2, 3};
  const std::vector<double> b = {1, 2, 2, 3};

  // Pair 12 ties in a, pair 23 in b; 13, 14, 24 and 34 agree. Each series has 5
  // untied pairs: 4 / √(5 · 5).
  EXPECT_NEAR(KendallTau(a, b), 0.8, kExact);
}

TEST(KendallTauTest, TiesOfOneSeriesCountForThatSeries) {
  const std::vector<double> a = {1, 2, 3};
  const std::vector<double> b = {1, 1, 2};

  // 13 and 23 agree, 12 ties in b: 2 / √(3 · 2).
  EXPECT_NEAR(KendallTau(a, b), 2 / std::sqrt(6.0), kExact);
}

TEST(KendallTauTest, IsZeroWhereAllTie) {
  const std::vector<double> a = {1, 2, 3};
  const std::vector<double> b = {5, 5, 5};

  EXPECT_EQ(KendallTau(a, b), 0);
  EXPECT_EQ(KendallTau({}, {}), 0);
}

TEST(ScoreRunsTest, ErrorsAreRelativeToTheMeasurement) {
  MeasuredRun slow = Took(2);
  slow.memory_bytes = 10e9;
  const MeasuredRun fast = Took(1);
  const std::vector<PredictedRun> runs = {
      {&slow, {.iteration_s = 1.5, .memory_bytes = 12e9}},
      {&fast, {.iteration_s = 1.05, .memory_bytes = 1}}};
  const Score score = ScoreRuns(runs, 3);

  EXPECT_EQ(score.time.n, 2);
  EXPECT_NEAR(score.time.mean_abs, 0.15, kExact);  // (0.25 + 0.05) / 2.
  EXPECT_NEAR(score.time.bias, -0.1, kExact);
  EXPECT_EQ(score.memory.n, 1);
  EXPECT_NEAR(score.memory.bias, 0.2, kExact);
}

TEST(ScoreRunsTest, WorstRowsComeFirst) {
  const MeasuredRun a = Took(1);
  const MeasuredRun b = Took(1);
  const MeasuredRun c = Took(1);
  const std::vector<PredictedRun> runs = {{&a, {.iteration_s = 1.1}},
                                          {&b, {.iteration_s = 0.5}},
                                          {&c, {.iteration_s = 1.3}}};

  EXPECT_THAT(ScoreRuns(runs, 2).worst,
              ElementsAre(Pointee(Field(&PredictedRun::run, &b)),
                          Pointee(Field(&PredictedRun::run, &c))));
  EXPECT_THAT(ScoreRuns(runs, 0).worst, IsEmpty());
}

TEST(ScoreRunsTest, OrderIsComparedByTimeOfAToken) {
  // 0.1, 0.05 and 0.25 s a sequence.
  MeasuredRun a = Took(1);
  a.global_batch_size = 10;
  MeasuredRun b = Took(2);
  b.global_batch_size = 40;
  MeasuredRun c = Took(5);
  c.global_batch_size = 20;
  const std::vector<PredictedRun> runs = {{&a, {.iteration_s = 1.2}},
                                          {&b, {.iteration_s = 3.2}},
                                          {&c, {.iteration_s = 2}}};

  // Predicted 0.12, 0.08 and 0.1 s a sequence: of three pairs, a and c
  // disagree.
  EXPECT_THAT(ScoreRuns(runs, 0).kendall_tau,
              Optional(DoubleNear(1.0 / 3, kExact)));
}

TEST(ScoreRunsTest, OrderIsComparedAmongAtLeastThreeRunsOfOneModel) {
  const MeasuredRun a = Took(1);
  const MeasuredRun b = Took(2);
  MeasuredRun deeper = Took(3);
  deeper.num_layers = 9;
  MeasuredRun newer = Took(3);
  newer.framework = "Megatron-Core";
  const std::vector<PredictedRun> runs = {{&a, {.iteration_s = 1}},
                                          {&b, {.iteration_s = 2}},
                                          {&deeper, {.iteration_s = 3}},
                                          {&newer, {.iteration_s = 3}}};

  EXPECT_THAT(ScoreRuns(runs, 0).kendall_tau, Eq(std::nullopt));
}

TEST(ScoreRunsTest, GroupsCountByTheirPairs) {
  const MeasuredRun one = Took(1);
  const MeasuredRun two = Took(2);
  const MeasuredRun three = Took(3);
  MeasuredRun big[4] = {one, two, three, Took(4)};
  for (MeasuredRun& run : big) run.num_gpus = 64;
  const std::vector<PredictedRun> runs = {
      {&one, {.iteration_s = 3}},    {&two, {.iteration_s = 2}},
      {&three, {.iteration_s = 1}},  {&big[0], {.iteration_s = 1}},
      {&big[1], {.iteration_s = 2}}, {&big[2], {.iteration_s = 3}},
      {&big[3], {.iteration_s = 4}}};

  // Three pairs have τ −1 and six +1: 3 / 9.
  EXPECT_THAT(ScoreRuns(runs, 0).kendall_tau,
              Optional(DoubleNear(3.0 / 9, kExact)));
  // The first group would run the plan of 3 s instead of 1 s, the second the
  // best: (2 + 0) / 2.
  EXPECT_THAT(ScoreRuns(runs, 0).regret, Optional(DoubleNear(1, kExact)));
}

TEST(ScoreRunsTest, CountsWhetherPlansFitAsTheyDid) {
  const MeasuredRun ran = Took(1);
  const MeasuredRun failed = RanOutOfMemory();
  const MeasuredRun unknown = GptRun();
  const std::vector<PredictedRun> runs = {
      {&ran, {.iteration_s = 1, .fits = true}},
      {&ran, {.iteration_s = 1, .fits = false}},
      {&failed, {.iteration_s = 1, .fits = true}},
      {&failed, {.iteration_s = 1, .fits = true}},
      {&failed, {.iteration_s = 1, .fits = false}},
      {&unknown, {.iteration_s = 1, .fits = true}}};
  const Score score = ScoreRuns(runs, 3);

  EXPECT_EQ(score.fit.n, 5);
  EXPECT_EQ(score.fit.agree, 2);
  EXPECT_EQ(score.fit.falsely_fits, 2);
  EXPECT_EQ(score.fit.out_of_memory, 3);
  EXPECT_EQ(score.fit.ran(), 2);
  EXPECT_EQ(score.fit.truly_fits(), 1);
  EXPECT_EQ(score.time.n, 2);
}

TEST(ScoreBandsTest, CountsMeasurementsInsideTheirBand) {
  MeasuredRun a = Took(1.2);
  a.memory_bytes = 3;
  const MeasuredRun b = Took(1.4);
  const MeasuredRun c = GptRun();
  const PredictionBand band = {.time = {0.9, 1.3}, .memory = {1, 2}};
  const std::vector<PredictedRun> runs = {
      {.run = &a,
       .prediction = {.iteration_s = 1, .memory_bytes = 2},
       .band = band},
      {.run = &b, .prediction = {.iteration_s = 1}, .band = band},
      {.run = &c, .prediction = {.iteration_s = 1}, .band = band}};
  const BandScore time = ScoreBands(runs, Quantity::kTime);
  const BandScore memory = ScoreBands(runs, Quantity::kMemory);

  EXPECT_EQ(time.n, 2);
  EXPECT_EQ(time.inside, 1);
  EXPECT_NEAR(time.median_half_width, 0.2, kExact);
  EXPECT_EQ(memory.n, 1);
  EXPECT_EQ(memory.inside, 1);
}

}  // namespace
}  // namespace tangram
