#include "coordinator/dispatch/overtaken_workers.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(OvertakenWorkersTest, CountsUntilTenMinutesAfterTheLastTime) {
  OvertakenWorkers overtaken;
  const WorkerIdentity slow{"w", "10.0.0.1"};
  EXPECT_TRUE(overtaken.empty());
  overtaken.Note(slow, 0);
  overtaken.Note(slow, 500);
  EXPECT_EQ(overtaken.Count(slow, 1100), 2);
  EXPECT_EQ(overtaken.Count({"w", "10.0.0.2"}, 500), 0);
  EXPECT_EQ(overtaken.Count(slow, 1100.1), 0);
  overtaken.Note(slow, 1200);
  EXPECT_EQ(overtaken.Count(slow, 1200), 1);
}

TEST(OvertakenWorkersTest, IsSilentUntilItAnswers) {
  OvertakenWorkers overtaken;
  const WorkerIdentity slow{"w", "10.0.0.1"};
  overtaken.NoteAnswer(slow);
  EXPECT_TRUE(overtaken.empty());
  overtaken.Note(slow, 5);
  EXPECT_EQ(overtaken.SilentSince(slow, 6), 5);
  EXPECT_EQ(overtaken.SilentSince(slow, 606), std::nullopt);
  overtaken.NoteAnswer(slow);
  EXPECT_EQ(overtaken.SilentSince(slow, 6), std::nullopt);
  EXPECT_EQ(overtaken.Count(slow, 6), 1);
  overtaken.Note(slow, 7);
  EXPECT_EQ(overtaken.SilentSince(slow, 7), 7);
}

TEST(OvertakenWorkersTest, TheOldestIsForgottenBeyondTheLimit) {
  OvertakenWorkers overtaken;
  const auto worker = [](size_t i) {
    return WorkerIdentity{.host = absl::StrCat(i)};
  };
  for (size_t i = 0; i <= OvertakenWorkers::kMaxRecords; ++i) {
    overtaken.Note(worker(i), 0.01 * static_cast<double>(i));
  }
  EXPECT_EQ(overtaken.Count(worker(0), 200), 0);
  EXPECT_EQ(overtaken.Count(worker(1), 200), 1);
}

}  // namespace
}  // namespace tangram
