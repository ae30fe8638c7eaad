#include "common/sim/longest_walks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

template <typename Rep>
class LongestWalksTest : public ::testing::Test {
 protected:
  using Outcome = typename LongestWalks<Rep>::Outcome;
  StopPoll never_;
};
using Reps = ::testing::Types<int64_t, Ticks>;
TYPED_TEST_SUITE(LongestWalksTest, Reps);

// x0 = max(x0 + 3, x1), x1 = x0 + 4: a loop of 3, and a ring of 4 in 2 runs.
DelayedProgram LoopAndRing() {
  return {.steps = {{0, 0, 3}, {2, 1, 0}, {0, 0, 4}},
          .outputs = {3, 4},
          .queues = {{0}, {1}}};
}

TYPED_TEST(LongestWalksTest, ACycleThatIsTooSlowIsNamed) {
  const DelayedProgram program = LoopAndRing();
  LongestWalks<TypeParam> walks(program, this->never_);
  walks.Reset({.ticks = 2, .runs = 1}, /*modulus=*/1);
  walks.Add(0, 0, 0);
  ASSERT_EQ(walks.Improve(), TestFixture::Outcome::kTooSlow);
  EXPECT_EQ(walks.slowest().ticks, 3);
  EXPECT_EQ(walks.slowest().runs, 1);
  EXPECT_THAT(walks.slowest().inputs, ::testing::ElementsAre(0));
}

TYPED_TEST(LongestWalksTest, GainsAreDurationsLessThePace) {
  const DelayedProgram program = LoopAndRing();
  LongestWalks<TypeParam> walks(program, this->never_);
  walks.Reset({.ticks = 3, .runs = 1}, /*modulus=*/1);
  walks.Add(1, 0, 10);
  ASSERT_EQ(walks.Improve(), TestFixture::Outcome::kDone);
  // From x1 to x0: 10 - 3, and on to x1: 7 + 4 - 3, which is less than 10.
  EXPECT_EQ(walks.LongestTo(0, 0).gain, 7);
  EXPECT_EQ(walks.LongestTo(0, 0).runs, 1);
  EXPECT_EQ(walks.LongestTo(1, 0).gain, 10);
}

TYPED_TEST(LongestWalksTest, TheNumberOfRunsCountsModuloTheModulus) {
  // A single ring: x0 = x1, x1 = x0 + 4. An odd number of runs changes sides.
  const DelayedProgram program = {
      .steps = {{0, 0, 4}}, .outputs = {1, 2}, .queues = {{0}, {1}}};
  LongestWalks<TypeParam> walks(program, this->never_);
  walks.Reset({.ticks = 4, .runs = 2}, /*modulus=*/2);
  walks.Add(0, 0, 0);
  ASSERT_EQ(walks.Improve(), TestFixture::Outcome::kDone);
  EXPECT_LT(walks.LongestTo(0, 1).runs, 0);
  EXPECT_EQ(walks.LongestTo(1, 1).runs, 1);
  EXPECT_EQ(walks.LongestTo(1, 1).gain + walks.PaceTicks(1), 4);
}

TYPED_TEST(LongestWalksTest, WalksThroughARemovedInputAreForgotten) {
  const DelayedProgram program = LoopAndRing();
  LongestWalks<TypeParam> walks(program, this->never_);
  walks.Reset({.ticks = 3, .runs = 1}, /*modulus=*/1);
  walks.Add(0, 0, 0);
  ASSERT_EQ(walks.Improve(), TestFixture::Outcome::kDone);
  EXPECT_EQ(walks.LongestTo(1, 0).gain, 1);
  walks.Remove({0});
  EXPECT_LT(walks.LongestTo(1, 0).runs, 0);
}

TEST(NarrowLongestWalksTest, GainsThatDoNotFitAreReported) {
  const DelayedProgram program = LoopAndRing();
  StopPoll never;
  LongestWalks<int64_t> narrow(program, never);
  narrow.Reset({.ticks = 3, .runs = 1}, /*modulus=*/1);
  narrow.Add(0, 0, 0);
  narrow.Add(1, 0, -(Ticks{1} << 80));
  EXPECT_EQ(narrow.Improve(), LongestWalks<int64_t>::Outcome::kTooWide);
}

}  // namespace
}  // namespace tangram
