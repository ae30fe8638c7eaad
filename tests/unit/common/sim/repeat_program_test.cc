#include "common/sim/repeat_program.h"

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

RepeatedProgram Repeat(const MaxPlusProgram& program, int64_t count,
                       const std::vector<Ticks>& x) {
  StopPoll never;
  return RepeatProgram(program, count, x, never);
}

// Returns what every run gives.
std::vector<Ticks> RunAll(const MaxPlusProgram& program, int64_t count,
                          std::vector<Ticks> x) {
  for (int64_t run = 0; run < count; ++run) x = testing::Apply(program, x);
  return x;
}

TEST(RepeatProgramPropertyTest, EqualsEveryRun) {
  testing::RandomMaxPlus random(10);
  int64_t runs = 0;
  int64_t count = 0;
  for (int i = 0; i < 500; ++i) {
    const MaxPlusProgram program = random.NextProgram();
    const std::vector<Ticks> x = random.NextTimes(program.num_inputs());
    const int64_t times = random.Integer(0, 1500);
    const RepeatedProgram repeated = Repeat(program, times, x);
    ASSERT_THAT(repeated.x, ElementsAreArray(RunAll(program, times, x))) << i;
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

TEST(RepeatProgramPropertyTest, RingsOfNearlyTheSamePaceEqualEveryRun) {
  // Devices in a row, each with a loop of its own, and two queues between
  // neighbours. So rings of many lengths are nearly as slow.
  testing::RandomMaxPlus random(11);
  for (int i = 0; i < 100; ++i) {
    const int p = random.Integer(2, 6);
    const int spread = random.Integer(0, 1) == 0 ? 0 : random.Integer(1, 50);
    const std::vector<Ticks> x = random.NextTimes(5 * p);
    MaxPlusProgram program;
    program.outputs.resize(5 * p);
    for (int d = 0; d < p; ++d) {
      const int from_previous = 5 * d + 1;
      const int from_next = 5 * d + 3;
      const int base = 5 * p + 2 * d;
      program.steps.push_back({5 * d, from_previous, 0});
      program.steps.push_back(
          {base, from_next, 1000 + random.Integer(0, spread)});
      // A queue of two places: the second moves up to the first.
      program.outputs[5 * d] = base + 1;
      program.outputs[from_previous] = from_previous + 1;
      program.outputs[from_next] = from_next + 1;
    }
    for (int d = 0; d < p; ++d) {
      const int previous = 5 * p + 2 * ((d + p - 1) % p) + 1;
      const int next = 5 * p + 2 * ((d + 1) % p) + 1;
      const int send = 5 * p + static_cast<int>(program.steps.size());
      program.steps.push_back({previous, previous, random.Integer(0, 700)});
      program.steps.push_back({next, next, random.Integer(0, 700)});
      program.outputs[5 * d + 2] = send;
      program.outputs[5 * d + 4] = send + 1;
    }
    const int64_t times = random.Integer(33, 3000);
    ASSERT_THAT(Repeat(program, times, x).x,
                ElementsAreArray(RunAll(program, times, x)))
        << i;
  }
}

TEST(RepeatProgramTest, AQueueOfThousandsOfPlacesTakesNoWork) {
  // x0 takes the first of 5,000 places, and its result takes the last.
  const int n = 5000;
  MaxPlusProgram program = {.steps = {{0, 1, 7}}};
  std::vector<Ticks> x(n + 1);
  program.outputs.push_back(n + 1);
  for (int i = 1; i < n; ++i) program.outputs.push_back(i + 1);
  program.outputs.push_back(n + 1);
  x[1 + n / 2] = 1000;
  const int64_t count = 100'000'000;
  const RepeatedProgram repeated = Repeat(program, count, x);
  // The late time is taken in run 2,501. From then on each run takes 7.
  EXPECT_EQ(repeated.x[0],
            std::max<int64_t>(7 * count, 1000 + 7 * (count - n / 2)));
  EXPECT_EQ(repeated.x[n], repeated.x[0]);
  EXPECT_EQ(repeated.x[1], repeated.x[0] - 7 * (n - 1));
  EXPECT_LT(repeated.runs, 100);
}

TEST(RepeatProgramTest, ALoopThatIsALittleFasterKeepsItsPace) {
  // Both are visited at once, because they differ by less than the accuracy.
  const int64_t slow = int64_t{1} << 42;
  const MaxPlusProgram program = {.steps = {{0, 0, slow}, {1, 1, slow - 1000}},
                                  .outputs = {2, 3}};
  const int64_t count = int64_t{1} << 30;
  EXPECT_THAT(Repeat(program, count, {0, 0}).x,
              ElementsAre(Ticks{slow} * count, Ticks{slow - 1000} * count));
}

TEST(RepeatProgramTest, StopsWhenPolled) {
  MaxPlusProgram program = {.steps = {{0, 0, 1}}};
  const int steps = 2 * StopPoll::kStepsBetweenPolls;
  for (int k = 1; k < steps; ++k) program.steps.push_back({k, 0, 1});
  program.outputs = {steps};
  int polls = 0;
  StopPoll poll([&] { return ++polls == 3; });
  EXPECT_LE(RepeatProgram(program, int64_t{1} << 40, {0}, poll).runs, 3);
  EXPECT_EQ(polls, 3);
}

}  // namespace
}  // namespace tangram
