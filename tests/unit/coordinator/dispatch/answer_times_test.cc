#include "coordinator/dispatch/answer_times.h"

#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

class AnswerTimesTest : public ::testing::Test {
 protected:
  static WorkerIdentity Source(const std::string& host) {
    return {.host = host};
  }
  void Note(const std::string& host, double took_s, int count = 4) {
    for (int i = 0; i < count; ++i) {
      times_.Note(kAdapter, Source(host), took_s, /*now_s=*/0);
    }
  }

  const AdapterId kAdapter{"aceso", "1"};
  AnswerTimes times_;
};

TEST_F(AnswerTimesTest, TheLongestTimeFades) {
  Note("a", 8, /*count=*/1);
  Note("a", 1, /*count=*/32);
  EXPECT_EQ(times_.Of(kAdapter, Source("a")).count, 33);
  EXPECT_NEAR(times_.Of(kAdapter, Source("a")).longest_s, 8 / std::exp(1),
              0.05);
  EXPECT_EQ(times_.Of({"aceso", "2"}, Source("a")).count, 0);
  EXPECT_EQ(times_.Of(kAdapter, Source("b")).count, 0);
}

TEST_F(AnswerTimesTest, TheUsualTimeIsThatOfTheSourceInTheMiddle) {
  EXPECT_EQ(times_.Usual(kAdapter), std::nullopt);
  Note("few", 100, /*count=*/3);
  EXPECT_EQ(times_.Usual(kAdapter), std::nullopt);
  Note("b", 5);
  EXPECT_EQ(times_.Usual(kAdapter), 5);
  // One that is slow makes nobody wait, and one that is quick hurries nobody
  // if there are two others.
  Note("slow", 25);
  EXPECT_EQ(times_.Usual(kAdapter), 5);
  Note("a", 4);
  EXPECT_EQ(times_.Usual(kAdapter), 5);
  Note("quick", 0.001);
  EXPECT_EQ(times_.Usual(kAdapter), 4);
  EXPECT_EQ(times_.Usual({"aceso", "2"}), std::nullopt);
}

TEST_F(AnswerTimesTest, TheOldestIsForgottenBeyondTheLimit) {
  for (size_t i = 0; i <= kMaxSources; ++i) {
    times_.Note(kAdapter, Source(absl::StrCat(i)), 1, static_cast<double>(i));
    times_.Note(kAdapter, Source("0"), 1, static_cast<double>(i));
  }
  EXPECT_EQ(times_.Of(kAdapter, Source("1")).count, 0);
  EXPECT_EQ(times_.Of(kAdapter, Source("2")).count, 1);
  EXPECT_EQ(times_.Of(kAdapter, Source("0")).count,
            static_cast<int>(kMaxSources) + 2);
}

}  // namespace
}  // namespace tangram
