#include "coordinator/dispatch/source_records.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

class SourceRecordsTest : public ::testing::Test {
 protected:
  const WorkerIdentity source_{"w", "10.0.0.1"};
  SourceRecords records_{/*max_pause_s=*/30};
};

TEST_F(SourceRecordsTest, CountsUntilTenMinutesAfterTheLastTime) {
  records_.NoteOvertaken(source_, 1, 0);
  records_.NoteOvertaken(source_, 1, 500);
  EXPECT_EQ(records_.TimesOvertaken(source_, 1100), 2);
  EXPECT_EQ(records_.TimesOvertaken({"w", "10.0.0.2"}, 500), 0);
  EXPECT_EQ(records_.TimesOvertaken(source_, 1100.1), 0);
  records_.NoteOvertaken(source_, 1, 1200);
  EXPECT_EQ(records_.TimesOvertaken(source_, 1200), 1);
}

TEST_F(SourceRecordsTest, PausesLongerEachTimeUntilItAnswers) {
  records_.NoteAnswer(source_, 0);
  EXPECT_EQ(records_.PausedUntil(source_, 0), std::nullopt);
  double now_s = 100;
  for (const double pause_s : {2, 8, 30, 30}) {
    EXPECT_FALSE(records_.IsSilent(source_, now_s));
    records_.NoteOvertaken(source_, /*held_s=*/1, now_s);
    EXPECT_EQ(records_.PausedUntil(source_, now_s), now_s + pause_s);
    // Twice in a row: it may have been in a long search.
    EXPECT_FALSE(records_.IsSilent(source_, now_s));
    records_.NoteOvertaken(source_, /*held_s=*/1, now_s);
    EXPECT_EQ(records_.IsSilent(source_, now_s), pause_s == 30);
    records_.NoteAnswer(source_, now_s);
    EXPECT_EQ(records_.PausedUntil(source_, now_s), std::nullopt);
    now_s += 31;
  }
  EXPECT_EQ(records_.TimesOvertaken(source_, now_s), 8);
  records_.NoteOvertaken(source_, 1, now_s);
  EXPECT_EQ(records_.PausedUntil(source_, now_s + 601), std::nullopt);
}

// It is not known to be silent yet: its first task may take long.
TEST_F(SourceRecordsTest, OneThatNeverAnsweredPausesForTheLongestTime) {
  records_.NoteOvertaken(source_, /*held_s=*/1, 0);
  EXPECT_EQ(records_.PausedUntil(source_, 0), 30);
  EXPECT_FALSE(records_.IsSilent(source_, 0));
  records_.NoteOvertaken(source_, /*held_s=*/8, 40);
  EXPECT_TRUE(records_.IsSilent(source_, 40));
}

TEST_F(SourceRecordsTest, OneThatWasOvertakenAtOnceHasNotAnsweredSince) {
  records_.NoteAnswer(source_, 0);
  records_.NoteOvertaken(source_, /*held_s=*/0, 1);
  EXPECT_EQ(records_.PausedUntil(source_, 1), 1);
  records_.NoteAnswer(source_, 2);
  EXPECT_EQ(records_.PausedUntil(source_, 2), std::nullopt);
}

TEST_F(SourceRecordsTest, IsTrustedIfItAnsweredAndWasLostAtMostOnce) {
  EXPECT_FALSE(records_.IsTrusted(source_, 0));
  records_.NoteAnswer(source_, 0);
  EXPECT_TRUE(records_.HasAnswered(source_));
  EXPECT_TRUE(records_.IsTrusted(source_, 0));
  records_.NoteLoss(source_, 1);
  EXPECT_TRUE(records_.IsTrusted(source_, 1));
  records_.NoteLoss(source_, 26);
  EXPECT_FALSE(records_.IsTrusted(source_, 626));
  EXPECT_TRUE(records_.IsTrusted(source_, 626.1));
  records_.NoteLoss(source_, 700);
  EXPECT_TRUE(records_.IsTrusted(source_, 700));
  EXPECT_TRUE(records_.HasAnswered(source_));
}

TEST_F(SourceRecordsTest, TheOldestIsForgottenBeyondTheLimit) {
  const auto worker = [](size_t i) {
    return WorkerIdentity{.host = absl::StrCat(i)};
  };
  records_.NoteAnswer(worker(0), 0);
  for (size_t i = 1; i <= kMaxSources; ++i) {
    records_.NoteOvertaken(worker(i), 1, 0.01 * static_cast<double>(i));
  }
  EXPECT_TRUE(records_.HasAnswered(worker(0)));
  EXPECT_EQ(records_.TimesOvertaken(worker(1), 200), 0);
  EXPECT_EQ(records_.TimesOvertaken(worker(2), 200), 1);
}

TEST_F(SourceRecordsTest, PausesLongerEachTimeThatConnectionsEndWithTasks) {
  double now_s = 100;
  records_.NoteHandedBack(source_, now_s);
  // Once is how a worker ends in order, also with all its connections.
  records_.NoteHandedBack(source_, now_s + 0.1);
  EXPECT_EQ(records_.PausedUntil(source_, now_s), std::nullopt);
  for (const double pause_s : {1, 2, 4, 8, 16, 30, 30}) {
    now_s += 50;
    records_.NoteLoss(source_, now_s);
    EXPECT_EQ(records_.PausedUntil(source_, now_s), now_s + pause_s);
  }
  records_.NoteAnswer(source_, now_s);
  EXPECT_EQ(records_.PausedUntil(source_, now_s), std::nullopt);
}

}  // namespace
}  // namespace tangram
