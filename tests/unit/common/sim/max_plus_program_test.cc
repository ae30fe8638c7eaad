#include "common/sim/max_plus_program.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_max_plus.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

TEST(MaxPlusProgramTest, AnAdditionJoinsTheMaximumThatOnlyItReads) {
  // t2 = max(x0, x1), t3 = t2 + 5, t4 = t3 + 1 (not needed), y = {t3, x1}.
  const MaxPlusProgram program = {.steps = {{0, 1, 0}, {2, 2, 5}, {3, 3, 1}},
                                  .outputs = {3, 1}};
  const MaxPlusProgram simple = Simplified(program);
  EXPECT_THAT(simple.steps, ElementsAre(MaxPlusStep{0, 1, 5}));
  EXPECT_THAT(simple.outputs, ElementsAre(2, 1));
}

TEST(MaxPlusProgramTest, AMaximumThatOthersReadStays) {
  const MaxPlusProgram program = {.steps = {{0, 1, 0}, {2, 2, 5}},
                                  .outputs = {3, 2}};
  EXPECT_EQ(Simplified(program).steps, program.steps);
}

TEST(MaxPlusProgramTest, OnlyInputsThatAreReadStay) {
  // x0 is overwritten unread, x1 keeps its value, output 0 reads x2.
  const MaxPlusProgram program = {.steps = {{2, 2, 7}}, .outputs = {2, 1, 3}};
  std::vector<int32_t> read;
  const MaxPlusProgram only = OnlyRead(program, read);
  EXPECT_THAT(read, ElementsAre(2));
  EXPECT_THAT(only.steps, ElementsAre(MaxPlusStep{0, 0, 7}));
  EXPECT_THAT(only.outputs, ElementsAre(1));
}

TEST(MaxPlusProgramPropertyTest, OtherFormsGiveTheSameTimes) {
  testing::RandomMaxPlus random(7);
  for (int i = 0; i < 300; ++i) {
    const MaxPlusProgram program = random.NextProgram();
    const std::vector<Ticks> x = random.NextTimes(program.num_inputs());
    const std::vector<Ticks> y = testing::Apply(program, x);
    ASSERT_EQ(testing::Apply(Simplified(program), x), y);
    ASSERT_EQ(testing::Apply(SortedByDepth(program), x), y);
    std::vector<int32_t> read;
    const MaxPlusProgram only = OnlyRead(program, read);
    std::vector<Ticks> read_x;
    std::vector<Ticks> read_y;
    for (const int32_t r : read) {
      read_x.push_back(x[r]);
      read_y.push_back(y[r]);
    }
    ASSERT_EQ(testing::Apply(only, read_x), read_y);
  }
}

template <typename Rep>
class MaxPlusRunnerTest : public ::testing::Test {};
using Reps = ::testing::Types<int64_t, Ticks>;
TYPED_TEST_SUITE(MaxPlusRunnerTest, Reps);

TYPED_TEST(MaxPlusRunnerTest, RunsThePrograms) {
  testing::RandomMaxPlus random(8);
  for (int i = 0; i < 100; ++i) {
    const MaxPlusProgram program = random.NextProgram();
    std::vector<Ticks> x = random.NextTimes(program.num_inputs());
    MaxPlusRunner<TypeParam> runner(program, x);
    for (int run = 0; run < 5; ++run) {
      x = testing::Apply(program, x);
      runner.Run();
      ASSERT_THAT(runner.X(), ElementsAreArray(x));
      ASSERT_EQ(runner.fingerprint(),
                MaxPlusRunner<TypeParam>(program, x).fingerprint());
    }
  }
}

TYPED_TEST(MaxPlusRunnerTest, TimesMoveAsTheirSpeedsSayUpToTheHorizon) {
  testing::RandomMaxPlus random(9);
  int64_t overtaken = 0;
  for (int i = 0; i < 300; ++i) {
    const MaxPlusProgram program = random.NextProgram();
    const std::vector<Ticks> x = random.NextTimes(program.num_inputs());
    const std::vector<Ticks> speeds = random.NextTimes(program.num_inputs());
    MaxPlusRunner<TypeParam> runner(program, x);
    std::vector<Ticks> moved = speeds;
    const int64_t horizon = runner.RunMoving(moved);
    const std::vector<Ticks> y = runner.X();
    ASSERT_EQ(y, testing::Apply(program, x));
    // Compares M(x + k speeds) with the sum that the speeds promise.
    const auto is_as_said = [&](int64_t k) {
      std::vector<Ticks> later = x;
      std::vector<Ticks> said = y;
      for (size_t j = 0; j < x.size(); ++j) later[j] += k * speeds[j];
      for (size_t j = 0; j < x.size(); ++j) said[j] += k * moved[j];
      return testing::Apply(program, later) == said;
    };
    const int64_t last = std::min<int64_t>(horizon, 1 << 20);
    ASSERT_TRUE(is_as_said(last));
    ASSERT_TRUE(is_as_said(last / 2));
    if (horizon < 1 << 20 && !is_as_said(horizon + 1)) ++overtaken;
  }
  EXPECT_GT(overtaken, 50);  // The horizon is no shorter than needed.
}

TYPED_TEST(MaxPlusRunnerTest, MovesOnByManyTimesTheSpeeds) {
  const MaxPlusProgram program = {.steps = {{0, 0, 5}}, .outputs = {2, 1}};
  MaxPlusRunner<TypeParam> runner(program, {10, 20});
  runner.Move({3, 4}, 1000);
  EXPECT_THAT(runner.X(), ElementsAre(3010, 4020));
  runner.Run();
  EXPECT_THAT(runner.X(), ElementsAre(3015, 4020));
}

TEST(MaxPlusRunnerTest, NarrowTimesMayBeLateButNotFarApart) {
  const MaxPlusProgram program = {.steps = {{0, 0, 5}, {1, 1, 6}},
                                  .outputs = {2, 3}};
  const Ticks late = Ticks{1} << 100;
  MaxPlusRunner<int64_t> runner(program, {late, late + 1});
  ASSERT_TRUE(runner.fits());
  runner.Run();
  EXPECT_THAT(runner.X(), ElementsAre(late + 5, late + 7));
  runner.Move({1, 1}, int64_t{1} << 62);
  EXPECT_TRUE(runner.fits());
  runner.Move({0, 1}, int64_t{1} << 62);
  EXPECT_FALSE(runner.fits());
  EXPECT_FALSE(MaxPlusRunner<int64_t>(program, {0, late}).fits());
  EXPECT_TRUE(MaxPlusRunner<Ticks>(program, {0, late}).fits());
}

}  // namespace
}  // namespace tangram
