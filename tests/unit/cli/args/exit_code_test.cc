#include "cli/args/exit_code.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/run_tangram.h"

namespace tangram {
namespace {

TEST(ExitCodeTest, TellsKindsOfFailureApart) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), ExitCode::kOk);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), ExitCode::kInternal);
  EXPECT_EQ(ExitCodeOf(absl::UnknownError("")), ExitCode::kInternal);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), ExitCode::kBadInput);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), ExitCode::kBadInput);
  EXPECT_EQ(ExitCodeOf(absl::UnimplementedError("")), ExitCode::kBadInput);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), ExitCode::kUnavailable);
  EXPECT_EQ(ExitCodeOf(absl::ResourceExhaustedError("")),
            ExitCode::kUnavailable);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")),
            ExitCode::kDeadlineExceeded);
  EXPECT_EQ(ExitCodeOf(absl::CancelledError("")), ExitCode::kInterrupted);
}

TEST(ExitCodeTest, NumbersAreTheDocumentedOnes) {
  EXPECT_EQ(static_cast<int>(ExitCode::kOk), 0);
  EXPECT_EQ(static_cast<int>(ExitCode::kInternal), 1);
  EXPECT_EQ(static_cast<int>(ExitCode::kBadInput), 2);
  EXPECT_EQ(static_cast<int>(ExitCode::kNoPlan), 3);
  EXPECT_EQ(static_cast<int>(ExitCode::kUnavailable), 4);
  EXPECT_EQ(static_cast<int>(ExitCode::kDeadlineExceeded), 5);
  EXPECT_EQ(static_cast<int>(ExitCode::kPlansDiffer), 6);
  EXPECT_EQ(static_cast<int>(ExitCode::kTrainsWrong), 7);
  EXPECT_EQ(static_cast<int>(ExitCode::kRunFailed), 8);
  EXPECT_EQ(static_cast<int>(ExitCode::kInterrupted), 130);
}

TEST(ExitCodeTest, HelpSaysWhatEachMeans) {
  const std::string help = testing::RunWith({"--help"}).out;
  for (const ExitCodeMeaning& entry : ExitCodeMeanings()) {
    EXPECT_THAT(help, ::testing::HasSubstr(entry.meaning));
  }
  EXPECT_THAT(help, ::testing::HasSubstr("\n  130  interrupted\n"));
}

}  // namespace
}  // namespace tangram
