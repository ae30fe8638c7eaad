#include "common/sim/moving_clock.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(MovingClockTest, KeepsADurationToTheLastBit) {
  const MovingClock clock(1e8);
  for (const double seconds : {0.0, 1e-5, 1.0 / 3, 12345.678, 1e8}) {
    EXPECT_EQ(clock.ToSeconds(clock.FromSeconds(seconds)), seconds);
  }
}

TEST(MovingClockTest, AFasterLoserOvertakesAtTheHorizon) {
  MovingClock clock(100);
  MovingTime ahead = clock.FromSeconds(10);
  MovingTime behind = clock.FromSeconds(3);
  ahead.speed = clock.FromSeconds(1).at;
  behind.speed = clock.FromSeconds(3).at;
  clock.Watch();
  EXPECT_EQ(clock.Later(behind, ahead).at, ahead.at);
  // 10 + k ≥ 3 + 3 k up to k = 3.5.
  EXPECT_EQ(clock.StopWatching(), 3);
}

TEST(MovingClockTest, ASlowerLoserNeverOvertakes) {
  MovingClock clock(100);
  MovingTime ahead = clock.FromSeconds(10);
  ahead.speed = clock.FromSeconds(1).at;
  clock.Watch();
  clock.Later(ahead, clock.FromSeconds(3));
  EXPECT_EQ(clock.StopWatching(), MovingClock::kForever);
}

TEST(MovingClockTest, OfEqualTimesTheFasterOneWins) {
  MovingClock clock(100);
  MovingTime slow = clock.FromSeconds(10);
  MovingTime fast = slow;
  fast.speed = 1;
  clock.Watch();
  EXPECT_EQ(clock.Later(slow, fast).speed, 1);
  EXPECT_EQ(clock.Later(fast, slow).speed, 1);
  EXPECT_EQ(clock.StopWatching(), MovingClock::kForever);
}

}  // namespace
}  // namespace tangram
