#include "coordinator/jobs/retry_times.h"

#include <gtest/gtest.h>

namespace tangram {
namespace {

constexpr int kTimesInAll = 1161;  // From 2 to 60 s, 0.05 s apart.

TEST(RetryTimesTest, CallersOfATenantComeBackOneAfterAnother) {
  double now_s = 100;
  RetryTimes times({.now_s = [&] { return now_s; }});
  EXPECT_DOUBLE_EQ(times.NextDelayS("a"), 2);
  EXPECT_NEAR(times.NextDelayS("a"), 2.05, 1e-9);
  EXPECT_DOUBLE_EQ(times.NextDelayS("b"), 2);
  // Those that come back meanwhile are told times behind the others.
  now_s += 0.02;
  EXPECT_NEAR(times.NextDelayS("a"), 2.08, 1e-9);
}

TEST(RetryTimesTest, TimesThatHavePassedAreForgotten) {
  double now_s = 0;
  RetryTimes times({.now_s = [&] { return now_s; }});
  for (int i = 0; i < 1000; ++i) times.NextDelayS("a");
  EXPECT_NEAR(times.NextDelayS("a"), 52, 1e-6);
  now_s = 60;
  EXPECT_DOUBLE_EQ(times.NextDelayS("b"), 2);
  EXPECT_DOUBLE_EQ(times.NextDelayS("a"), 2);
}

TEST(RetryTimesTest, NoCallerIsSentAwayForLong) {
  RetryTimes times({.now_s = [] { return 0.0; }});
  double last_s = 0;
  for (int i = 0; i < kTimesInAll; ++i) last_s = times.NextDelayS("a");
  EXPECT_NEAR(last_s, 60, 0.06);
  EXPECT_LT(times.NextDelayS("a"), 2.2);
}

}  // namespace
}  // namespace tangram
