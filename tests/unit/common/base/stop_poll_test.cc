#include "common/base/stop_poll.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(StopPollTest, PollsAfterMuchWorkAndRemembersTheAnswer) {
  int polls = 0;
  StopPoll poll([&] { return ++polls == 2; });
  EXPECT_FALSE(poll.After(StopPoll::kStepsBetweenPolls - 1));
  EXPECT_EQ(polls, 0);
  EXPECT_FALSE(poll.After(1));
  EXPECT_EQ(polls, 1);
  EXPECT_TRUE(poll.After(10 * StopPoll::kStepsBetweenPolls));
  EXPECT_EQ(polls, 2);
  EXPECT_TRUE(poll.After(1));
  EXPECT_TRUE(poll.stopped());
  EXPECT_TRUE(poll.After(StopPoll::kStepsBetweenPolls));
  EXPECT_EQ(polls, 2);  // Not asked again.
}

TEST(StopPollTest, WithoutAQuestionNeverStops) {
  StopPoll poll;
  EXPECT_FALSE(poll.After(1'000'000));
}

}  // namespace
}  // namespace tangram
