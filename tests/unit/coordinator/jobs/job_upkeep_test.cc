#include "coordinator/jobs/job_upkeep.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/jobs/memory_job_store.h"

namespace tangram {
namespace {

TEST(JobUpkeepTest, JobsTryTwiceWhenAnAdapterComesAndNotTooOften) {
  testing::MemoryJobStore store;
  int num_due = 0;
  JobUpkeep upkeep(store, {.on_waiting = [](int) {},
                           .on_oldest_waiting_s = [](double) {},
                           .on_deleted = [](int) {},
                           .on_due = [&] { ++num_due; }});
  upkeep.Look(0, 100);
  EXPECT_EQ(num_due, 0);
  upkeep.Look(1, 101);
  EXPECT_EQ(num_due, 1);
  upkeep.Look(1, 102);
  EXPECT_EQ(num_due, 1);
  upkeep.Look(1, 106);
  EXPECT_EQ(num_due, 2);
  upkeep.Look(1, 200);
  EXPECT_EQ(num_due, 2);
  // A worker that comes and goes all the time.
  for (int second = 1; second <= 50; ++second) {
    upkeep.Look(1 + second, 200 + second);
  }
  EXPECT_EQ(num_due, 12);
  EXPECT_EQ(store.num_ended_delays(), 12);
}

TEST(JobUpkeepTest, AStoreThatFailsIsAskedAgain) {
  testing::MemoryJobStore store;
  int num_due = 0;
  JobUpkeep upkeep(store, {.on_waiting = [](int) {},
                           .on_oldest_waiting_s = [](double) {},
                           .on_deleted = [](int) {},
                           .on_due = [&] { ++num_due; }});
  store.FailWith(absl::StatusCode::kUnavailable);
  upkeep.Look(1, 100);
  EXPECT_EQ(num_due, 0);
  store.FailWith(absl::StatusCode::kOk);
  upkeep.Look(1, 101);
  EXPECT_EQ(num_due, 1);
}

}  // namespace
}  // namespace tangram
