#include "coordinator/rpc/unread_replies.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UnreadRepliesTest : public ::testing::Test {
 protected:
  void Hold(UnreadReplies::Reply& reply, int64_t bytes, std::string name) {
    reply.Hold(bytes, [this, name] { ended_.push_back(name); });
  }

  double now_s_ = 100;
  std::vector<std::string> ended_;
  UnreadReplies replies_{100, [this] { return now_s_; }};
};

TEST_F(UnreadRepliesTest, TheSlowestEndUntilTheRestFits) {
  UnreadReplies::Reply a(replies_), b(replies_), c(replies_), d(replies_);
  Hold(a, 40, "a");
  Hold(b, 40, "b");
  now_s_ += UnreadReplies::kLeastWaitS;
  Hold(c, 20, "c");
  EXPECT_THAT(ended_, IsEmpty());
  Hold(d, 30, "d");
  EXPECT_THAT(ended_, ElementsAre("a"));
}

TEST_F(UnreadRepliesTest, HandlesCountLikeReplies) {
  int num_ended = 0;
  UnreadReplies replies(
      100, [this] { return now_s_; }, [&] { ++num_ended; });
  auto a = replies.Hold(60, [] {});
  now_s_ += UnreadReplies::kLeastWaitS;
  a.reset();
  const auto b = replies.Hold(60, [] {});
  EXPECT_EQ(num_ended, 0);
  now_s_ += UnreadReplies::kLeastWaitS;
  const auto c = replies.Hold(60, [] {});
  EXPECT_EQ(num_ended, 1);
}

TEST_F(UnreadRepliesTest, ZeroIsNoLimit) {
  UnreadReplies replies(0, [this] { return now_s_; });
  const auto a = replies.Hold(60, [] { FAIL(); });
  now_s_ += UnreadReplies::kLeastWaitS;
  const auto b = replies.Hold(60, [] { FAIL(); });
}

TEST_F(UnreadRepliesTest, NoneEndsThatHasHardlyWaited) {
  UnreadReplies::Reply a(replies_), b(replies_), c(replies_);
  Hold(a, 80, "a");
  now_s_ += UnreadReplies::kLeastWaitS / 2;
  Hold(b, 80, "b");
  EXPECT_THAT(ended_, IsEmpty());
  now_s_ += UnreadReplies::kLeastWaitS / 2;
  Hold(c, 1, "c");
  EXPECT_THAT(ended_, ElementsAre("a"));
}

TEST_F(UnreadRepliesTest, WhatIsReadCountsNoMore) {
  UnreadReplies::Reply a(replies_), c(replies_);
  std::optional<UnreadReplies::Reply> b;
  Hold(a, 60, "a");
  b.emplace(replies_);
  Hold(*b, 40, "b");
  now_s_ += 60;
  b.reset();
  Hold(c, 40, "c");
  EXPECT_THAT(ended_, IsEmpty());
  a.Drop();
  Hold(a, 60, "a again");
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(UnreadRepliesTest, AnEndedCallLeavesItsRoom) {
  UnreadReplies::Reply a(replies_), b(replies_), c(replies_);
  Hold(a, 100, "a");
  now_s_ += 60;
  Hold(b, 100, "b");
  EXPECT_THAT(ended_, ElementsAre("a"));
  now_s_ += 60;
  a.Drop();
  Hold(c, 100, "c");
  EXPECT_THAT(ended_, ElementsAre("a", "b"));
}

TEST_F(UnreadRepliesTest, OneBeyondTheLimitWaitsForTheNext) {
  UnreadReplies::Reply a(replies_), b(replies_);
  Hold(a, 1000, "a");
  EXPECT_THAT(ended_, IsEmpty());
  now_s_ += 60;
  Hold(b, 1, "b");
  EXPECT_THAT(ended_, ElementsAre("a"));
}

}  // namespace
}  // namespace tangram
