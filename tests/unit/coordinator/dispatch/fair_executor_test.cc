#include "coordinator/dispatch/fair_executor.h"

#include <atomic>
#include <latch>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

double NoTime() { return 0; }

TEST(FairExecutorTest, RunsWhatIsSubmitted) {
  std::atomic<int> sum = 0;
  {
    FairExecutor executor({.max_of_key = 2,
                           .num_places = 2,
                           .num_extra_places = 0,
                           .max_waiting = 100,
                           .now_s = NoTime});
    for (int i = 1; i <= 100; ++i) {
      ASSERT_TRUE(executor.Submit("a", [&sum, i] { sum += i; }).has_value());
    }
  }
  EXPECT_EQ(sum, 5050);  // 100 · 101 / 2
}

// One place, and as many as said for other tenants. A job of "busy" runs until
// the test lets it end.
class BusyExecutorTest : public ::testing::Test {
 protected:
  explicit BusyExecutorTest(int num_extra_places = 0, int max_waiting = 2)
      : executor_({.max_of_key = 1,
                   .num_places = 1,
                   .num_extra_places = num_extra_places,
                   .max_waiting = max_waiting,
                   .now_s = NoTime}) {
    executor_.Submit("busy", [this] {
      begun_.count_down();
      go_on_.wait(false);
    });
    begun_.wait();
  }
  ~BusyExecutorTest() override { GoOn(); }

  void GoOn() {
    go_on_ = true;
    go_on_.notify_all();
  }
  std::optional<FairExecutor::JobId> Submit(const std::string& key) {
    return executor_.Submit(key, [this, key] {
      const std::lock_guard lock(mutex_);
      run_.push_back(key);
    });
  }
  std::vector<std::string> run() {
    const std::lock_guard lock(mutex_);
    return run_;
  }

  std::latch begun_{1};
  std::atomic<bool> go_on_ = false;
  std::mutex mutex_;
  std::vector<std::string> run_;
  FairExecutor executor_;
};

TEST_F(BusyExecutorTest, RefusesMoreThanMayWait) {
  EXPECT_TRUE(Submit("busy").has_value());
  EXPECT_TRUE(Submit("busy").has_value());
  EXPECT_FALSE(Submit("busy").has_value());
  EXPECT_EQ(executor_.num_running(), 1);
  EXPECT_EQ(executor_.num_waiting(), 2);
}

TEST_F(BusyExecutorTest, ATenantThatFillsTheQueueTurnsNobodyElseAway) {
  EXPECT_TRUE(Submit("busy").has_value());
  EXPECT_TRUE(Submit("busy").has_value());
  EXPECT_FALSE(Submit("busy").has_value());
  EXPECT_TRUE(Submit("other").has_value());
}

TEST_F(BusyExecutorTest, ARemovedJobDoesNotRun) {
  const auto job = Submit("busy");
  EXPECT_TRUE(executor_.Remove(*job));
  EXPECT_FALSE(executor_.Remove(*job));
  GoOn();
  EXPECT_TRUE(executor_.WaitUntilIdle(30));
  EXPECT_TRUE(run().empty());
}

TEST_F(BusyExecutorTest, AClosedOneAcceptsNothing) {
  EXPECT_FALSE(executor_.WaitUntilIdle(0));
  EXPECT_TRUE(Submit("busy").has_value());
  executor_.Close();
  EXPECT_FALSE(Submit("busy").has_value());
  GoOn();
  EXPECT_TRUE(executor_.WaitUntilIdle(30));
  EXPECT_THAT(run(), ElementsAre("busy"));
}

class ManyWaitTest : public BusyExecutorTest {
 protected:
  ManyWaitTest() : BusyExecutorTest(/*num_extra_places=*/0, 100) {}
};

TEST_F(ManyWaitTest, TenantsTakeTurns) {
  for (const char* key : {"a", "a", "a", "b", "b", "c"}) Submit(key);
  GoOn();
  EXPECT_TRUE(executor_.WaitUntilIdle(30));
  // One place, and no time passes: the oldest job of those that wait.
  EXPECT_THAT(run(), ElementsAre("a", "a", "a", "b", "b", "c"));
}

class ExtraPlaceTest : public BusyExecutorTest {
 protected:
  ExtraPlaceTest() : BusyExecutorTest(/*num_extra_places=*/1) {}
};

TEST_F(ExtraPlaceTest, ATenantOfWhichNothingRunsNeedNotWait) {
  Submit("busy");
  Submit("other");
  while (run().empty()) std::this_thread::yield();
  EXPECT_THAT(run(), ElementsAre("other"));
}

// Time passes with each job of "a": 1 s. So "b" comes next.
TEST(FairExecutorTest, ATenantThatHasHadLessTimeComesFirst) {
  std::atomic<double> now_s = 0;
  std::vector<std::string> run;
  {
    FairExecutor executor({.max_of_key = 1,
                           .num_places = 1,
                           .num_extra_places = 0,
                           .max_waiting = 100,
                           .now_s = [&] { return now_s.load(); }});
    std::latch submitted{1};
    executor.Submit("first", [&] { submitted.wait(); });
    for (const char* key : {"a", "a", "a", "b", "b", "b"}) {
      executor.Submit(key, [&, key] {
        run.push_back(key);
        now_s = now_s + (key[0] == 'a' ? 1 : 0.6);
      });
    }
    submitted.count_down();
  }
  // Seconds of a and b: 1 and 0, 1 and 0.6, 1 and 1.2, 2 and 1.2, 2 and 1.8.
  EXPECT_THAT(run, ElementsAre("a", "b", "b", "a", "b", "a"));
}

}  // namespace
}  // namespace tangram
