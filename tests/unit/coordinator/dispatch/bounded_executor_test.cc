#include "coordinator/dispatch/bounded_executor.h"

#include <atomic>
#include <latch>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(BoundedExecutorTest, RunsWhatIsSubmitted) {
  std::atomic<int> sum = 0;
  {
    BoundedExecutor executor(2, 100);
    for (int i = 1; i <= 100; ++i) {
      ASSERT_TRUE(executor.Submit([&sum, i] { sum += i; }).has_value());
    }
  }
  EXPECT_EQ(sum, 5050);  // 100 · 101 / 2
}

// One thread that is busy until the test says so.
class BusyExecutorTest : public ::testing::Test {
 protected:
  BusyExecutorTest() {
    executor_.Submit([this] {
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

  std::atomic<int> num_run_ = 0;
  std::latch begun_{1};
  std::atomic<bool> go_on_ = false;
  BoundedExecutor executor_{1, 2};
};

TEST_F(BusyExecutorTest, RefusesWhatWouldWaitTooLong) {
  EXPECT_TRUE(executor_.Submit([] {}).has_value());
  EXPECT_TRUE(executor_.Submit([] {}).has_value());
  EXPECT_FALSE(executor_.Submit([] {}).has_value());
  EXPECT_EQ(executor_.num_running(), 1);
  EXPECT_EQ(executor_.num_waiting(), 2);
}

TEST_F(BusyExecutorTest, RemovesOnlyWhatHasNotBegun) {
  const auto job = executor_.Submit([this] { ++num_run_; });
  EXPECT_TRUE(executor_.Remove(*job));
  EXPECT_FALSE(executor_.Remove(*job));
  EXPECT_FALSE(executor_.Remove(1));  // The one that runs.
  EXPECT_FALSE(executor_.WaitUntilIdle(0));
  GoOn();
  EXPECT_TRUE(executor_.WaitUntilIdle(60));
  EXPECT_EQ(num_run_, 0);
}

TEST_F(BusyExecutorTest, AcceptsNothingOnceClosed) {
  executor_.Submit([this] { ++num_run_; });
  executor_.Close();
  EXPECT_FALSE(executor_.Submit([] {}).has_value());
}

}  // namespace
}  // namespace tangram
