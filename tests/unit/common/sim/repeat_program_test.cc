#include "common/sim/repeat_program.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_max_plus.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr size_t kMaxPeriod = 64;

RepeatedProgram Repeat(const MaxPlusProgram& program, int64_t count,
                       const std::vector<Ticks>& x) {
  StopPoll never;
  return RepeatProgram(program, count, kMaxPeriod, x, never);
}

TEST(RepeatProgramPropertyTest, EqualsEveryRun) {
  testing::RandomMaxPlus random(10);
  int64_t runs = 0;
  int64_t count = 0;
  for (int i = 0; i < 500; ++i) {
    const MaxPlusProgram program = random.NextProgram();
    std::vector<Ticks> x = random.NextTimes(program.num_inputs());
    const int64_t times = random.Integer(0, 1500);
    const RepeatedProgram repeated = Repeat(program, times, x);
    for (int64_t run = 0; run < times; ++run) x = testing::Apply(program, x);
    ASSERT_THAT(repeated.x, ElementsAreArray(x)) << i;
    runs += repeated.runs;
    count += times;
  }
  EXPECT_LT(runs, count / 10);  // Most runs are skipped.
}

TEST(RepeatProgramTest, TimesThatDivergeBeyond64BitsStayExact) {
  // x0 runs ahead, and x1 never waits for it.
  const int64_t step = int64_t{1} << 46;
  const MaxPlusProgram program = {
      .steps = {{0, 0, 3 * step}, {1, 1, step}, {3, 4, 0}},
      .outputs = {3, 4, 5}};
  const int64_t count = int64_t{1} << 30;
  const RepeatedProgram repeated = Repeat(program, count, {0, 0, 0});
  EXPECT_THAT(repeated.x,
              ElementsAre(Ticks{3 * step} * count, Ticks{step} * count,
                          Ticks{3 * step} * count));
  EXPECT_LT(repeated.runs, 100);
}

TEST(RepeatProgramTest, ASlowTimeAheadIsOvertaken) {
  // x1 = max(x1 + 2, x0): x0 starts a million behind and gains 1 in each run.
  const MaxPlusProgram program = {.steps = {{0, 0, 3}, {1, 1, 2}, {2, 3, 0}},
                                  .outputs = {2, 4}};
  const RepeatedProgram repeated = Repeat(program, 3'000'000, {0, 1'000'000});
  EXPECT_THAT(repeated.x, ElementsAre(9'000'000, 9'000'000));
  EXPECT_LT(repeated.runs, 100);
}

TEST(RepeatProgramTest, StopsWhenPolled) {
  // Shifting 200 times has a period that is too long to be found.
  MaxPlusProgram program;
  std::vector<Ticks> x;
  for (int i = 0; i < 200; ++i) {
    x.push_back(i * i % 97);
    program.outputs.push_back((i + 1) % 200);
  }
  program.steps.push_back({0, 0, 1});
  program.outputs.back() = 200;
  int polls = 0;
  StopPoll poll([&] { return ++polls == 3; });
  const RepeatedProgram repeated =
      RepeatProgram(program, int64_t{1} << 40, kMaxPeriod, x, poll);
  EXPECT_EQ(polls, 3);
  EXPECT_LE(repeated.runs, 3 * StopPoll::kStepsBetweenPolls);
}

}  // namespace
}  // namespace tangram
