#include "coordinator/dispatch/plan_turns.h"

#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace tangram {
namespace {

class PlanTurnsTest : public ::testing::Test {
 protected:
  explicit PlanTurnsTest(int num_turns = 1)
      : turns_({.num_turns = num_turns, .slice_s = 0.1, .now_s = [this] {
                  return now_s_.load();
                }}) {}

  // A plan in a thread, as it waits for its first turn.
  std::future<PlanTurns::Turn> BeginAside(const std::string& key,
                                          int priority = 0) {
    auto begun = std::async(std::launch::async, [this, key, priority] {
      return turns_.Begin({.key = key, .priority = priority}, nullptr);
    });
    const int waiting = ++num_aside_;
    while (turns_.num_paused() + turns_.num_active() < waiting) {
    }
    return begun;
  }
  PlanTurns::Turn Begin(const std::string& key, int priority = 0) {
    ++num_aside_;
    return turns_.Begin({.key = key, .priority = priority}, nullptr);
  }
  // Yields in a thread, which ends when the plan has a turn again.
  std::future<void> YieldAside(PlanTurns::Turn& turn) {
    return std::async(std::launch::async,
                      [this, &turn] { turns_.Yield(*turn, nullptr); });
  }
  void Yield(PlanTurns::Turn& turn) { turns_.Yield(*turn, nullptr); }

  std::atomic<double> now_s_ = 0;
  PlanTurns turns_;
  int num_aside_ = 0;
};

TEST_F(PlanTurnsTest, APlanAloneKeepsItsTurn) {
  PlanTurns::Turn only = Begin("a");
  now_s_ = 100;
  Yield(only);
  EXPECT_EQ(turns_.num_active(), 1);
}

TEST_F(PlanTurnsTest, EachTenantHasATurn) {
  PlanTurns::Turn first = Begin("a");
  PlanTurns::Turn other = Begin("b");
  now_s_ = 1;
  Yield(first);
  Yield(other);
  EXPECT_EQ(turns_.num_active(), 2);
}

TEST_F(PlanTurnsTest, APlanThatRestsNeedsNoTurnAndItsTimeDoesNotCount) {
  PlanTurns::Turn first = Begin("a");
  auto begun = BeginAside("a");
  turns_.Rest(*first);
  PlanTurns::Turn other = begun.get();
  now_s_ = 10;
  Yield(first);  // Nothing to give.
  auto resumed =
      std::async(std::launch::async, [&] { turns_.Resume(*first, nullptr); });
  while (turns_.num_paused() == 0) {
  }
  auto again = YieldAside(other);  // It has had 10 s.
  resumed.get();
  EXPECT_EQ(turns_.num_active(), 1);
  first.reset();
  again.get();
}

TEST_F(PlanTurnsTest, AShortPlanDoesNotWaitForALongOneOfItsTenant) {
  PlanTurns::Turn long_plan = Begin("a");
  now_s_ = 50;
  auto begun = BeginAside("a");
  auto again = YieldAside(long_plan);
  PlanTurns::Turn short_plan = begun.get();
  now_s_ = 51;
  Yield(short_plan);  // It has had 1 s, the other 50 s.
  short_plan.reset();
  again.get();
}

// After 4 s of both, one has had 4 s / 2^2.
TEST_F(PlanTurnsTest, APriorityCountsWithinATenant) {
  PlanTurns::Turn urgent = Begin("a", /*priority=*/2);
  now_s_ = 4;
  auto begun = BeginAside("a");
  auto urgent_again = YieldAside(urgent);
  PlanTurns::Turn usual = begun.get();
  now_s_ = 4.9;
  Yield(usual);  // 0.9 s beside 1 s.
  now_s_ = 5.2;
  auto usual_again = YieldAside(usual);  // 1.2 s beside 1 s.
  urgent_again.get();
  urgent.reset();
  usual_again.get();
}

TEST_F(PlanTurnsTest, APlanThatMustStopDoesNotWait) {
  const PlanTurns::Turn first = Begin("a");
  const PlanTurns::Turn other = turns_.Begin({.key = "a"}, [] { return true; });
  EXPECT_EQ(turns_.num_active(), 1);
  EXPECT_EQ(turns_.num_paused(), 1);
}

class FourTurnsTest : public PlanTurnsTest {
 protected:
  FourTurnsTest() : PlanTurnsTest(4) {}
};

TEST_F(FourTurnsTest, ATenantWithoutATurnGetsOneAtOnce) {
  std::vector<PlanTurns::Turn> plans;
  for (int i = 0; i < 4; ++i) plans.push_back(Begin("a"));
  PlanTurns::Turn other = Begin("b");
  EXPECT_EQ(turns_.num_active(), 5);
  auto again = YieldAside(plans[0]);  // One too many.
  while (turns_.num_active() > 4) {
  }
  // One more of b leaves two to each.
  auto second = BeginAside("b");
  auto again_1 = YieldAside(plans[1]);
  PlanTurns::Turn other_1 = second.get();
  auto third = BeginAside("b");
  Yield(plans[2]);  // Keeps it.
  EXPECT_EQ(turns_.num_active(), 4);
  // The turn goes to the tenant with fewer.
  other.reset();
  PlanTurns::Turn other_2 = third.get();
  other_1.reset();
  other_2.reset();
  again.get();
  again_1.get();
}

}  // namespace
}  // namespace tangram
