#include "common/obs/set_back_watch.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(SetBackWatchTest, OnlyAClockThatWasSetBackIsNoticedOnce) {
  SetBackWatch watch;
  EXPECT_EQ(watch.Look(1000, 10), 0);
  EXPECT_EQ(watch.Look(1001, 11), 0);
  EXPECT_EQ(watch.Look(5000, 12), 0);  // Ahead.
  EXPECT_EQ(watch.Look(5001, 13), 0);
  EXPECT_DOUBLE_EQ(watch.Look(1004, 14), 3998);
  EXPECT_EQ(watch.Look(1005, 15), 0);
  // A pause of the process is none of the clock.
  EXPECT_EQ(watch.Look(2005, 1015), 0);
  EXPECT_EQ(watch.Look(2002, 1016), 0);  // By 4 s.
}

}  // namespace
}  // namespace tangram
