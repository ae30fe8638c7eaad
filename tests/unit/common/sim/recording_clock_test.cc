#include "common/sim/recording_clock.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

TEST(RecordingClockTest, KeepsADurationToTheLastBitButOne) {
  const RecordingClock clock(/*longest_s=*/2, /*latest_s=*/1e8);
  for (const double seconds : {0.0, 1e-5, 1.0 / 3, 1.2345678, 2.0}) {
    const RecordingClock::Time time{clock.FromSeconds(seconds)};
    EXPECT_NEAR(clock.ToSeconds(time), seconds, 2 * std::ldexp(1.0, -42));
  }
}

TEST(RecordingClockTest, ALateTimeDoesNotOverflow) {
  const RecordingClock clock(/*longest_s=*/1, /*latest_s=*/1e30);
  const RecordingClock::Time time{clock.FromSeconds(9e29)};
  EXPECT_DOUBLE_EQ(clock.ToSeconds(time), 9e29);
}

TEST(RecordingClockTest, RecordsWhileItIsTold) {
  RecordingClock clock(/*longest_s=*/8, /*latest_s=*/100);
  const RecordingClock::Duration two = clock.FromSeconds(2);
  clock.After({0, 0}, two);  // Not recorded.
  clock.StartRecording(2);
  const RecordingClock::Time later = clock.Later({5, 0}, {7, 1});
  EXPECT_EQ(later.at, 7);
  EXPECT_EQ(later.index, 2);
  EXPECT_EQ(clock.After(later, two).at, two + 7);
  EXPECT_THAT(clock.StopRecording(),
              ElementsAre(MaxPlusStep{0, 1, 0},
                          MaxPlusStep{2, 2, static_cast<int64_t>(two)}));
}

}  // namespace
}  // namespace tangram
