#include "worker/service/stream_times.h"

#include "common/base/infinity.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

constexpr StreamTimes::Options kOptions = {.heartbeat_s = 15,
                                           .silence_limit_s = 25};

TEST(StreamTimesTest, AMessageIsDueEveryHeartbeat) {
  StreamTimes times(kOptions, 100);
  EXPECT_EQ(times.WriteAtS(), 115);
  times.OnWrite(107);
  EXPECT_FALSE(times.OnRead(0));
  EXPECT_EQ(times.WriteAtS(), 122);
}

TEST(StreamTimesTest, TheLastMessageSaysHowLongASilenceMayBe) {
  StreamTimes times(kOptions, 100);
  EXPECT_FALSE(times.OnRead(400));
  EXPECT_EQ(times.WriteAtS(), 500);
  EXPECT_TRUE(times.OnRead(200));
  EXPECT_EQ(times.WriteAtS(), 300);
  EXPECT_TRUE(times.OnRead(0));
  EXPECT_EQ(times.WriteAtS(), 115);
}

// Silence alone tells nothing: neither side need say anything for long.
TEST(StreamTimesTest, ACoordinatorThatOwesNoAnswerIsNotLost) {
  StreamTimes times(kOptions, 100);
  EXPECT_EQ(times.LostAtS(), kInfinity);
  times.OnWrite(100);
  times.OnRead(600);
  EXPECT_EQ(times.LostAtS(), kInfinity);
}

TEST(StreamTimesTest, TheFirstMessageWithoutAnAnswerCounts) {
  StreamTimes times(kOptions, 100);
  times.OnWrite(110);
  times.OnWrite(125);
  EXPECT_EQ(times.LostAtS(), 135);
  times.OnRead(0);
  times.OnWrite(130);
  EXPECT_EQ(times.LostAtS(), 155);
}

}  // namespace
}  // namespace tangram
