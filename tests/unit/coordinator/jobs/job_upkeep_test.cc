#include "coordinator/jobs/job_upkeep.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/jobs/memory_job_store.h"

namespace tangram {
namespace {

class JobUpkeepTest : public ::testing::Test {
 protected:
  testing::MemoryJobStore store_;
  int num_due_ = 0;
  JobUpkeep upkeep_{store_,
                    {.on_waiting = [](int) {},
                     .on_oldest_waiting_s = [](double) {},
                     .on_deleted = [](int) {},
                     .on_due = [this] { ++num_due_; }}};
};

TEST_F(JobUpkeepTest, JobsTryTwiceWhenAnAdapterComesAndNotTooOften) {
  upkeep_.Look(0, 100);
  EXPECT_EQ(num_due_, 0);
  upkeep_.Look(1, 101);
  EXPECT_EQ(num_due_, 1);
  upkeep_.Look(1, 102);
  EXPECT_EQ(num_due_, 1);
  upkeep_.Look(1, 106);
  EXPECT_EQ(num_due_, 2);
  upkeep_.Look(1, 200);
  EXPECT_EQ(num_due_, 2);
  // A worker that comes and goes all the time.
  for (int second = 1; second <= 50; ++second) {
    upkeep_.Look(1 + second, 200 + second);
  }
  EXPECT_EQ(num_due_, 12);
  EXPECT_EQ(store_.num_ended_delays(), 12);
}

TEST_F(JobUpkeepTest, AStoreThatFailsIsAskedAgain) {
  store_.FailWith(absl::StatusCode::kUnavailable);
  upkeep_.Look(1, 100);
  EXPECT_EQ(num_due_, 0);
  store_.FailWith(absl::StatusCode::kOk);
  upkeep_.Look(1, 101);
  EXPECT_EQ(num_due_, 1);
}

}  // namespace
}  // namespace tangram
