#include "coordinator/store/migrate.h"

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/test_database.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

const std::vector<std::string> kSteps = {"CREATE TABLE t (x BIGINT);",
                                         "ALTER TABLE t ADD COLUMN y BIGINT;"};

using MigrateTest = testing::DatabaseTest;
INSTANTIATE_TEST_SUITE_P(All, MigrateTest,
                         ::testing::Values("sqlite", "postgresql"),
                         testing::DatabaseName);

TEST_P(MigrateTest, OnlyMissingStepsAreTaken) {
  const auto database = Open();
  ASSERT_THAT(Migrate(*database, "t", {kSteps.data(), 1}), IsOk());
  ASSERT_THAT(database->Run("INSERT INTO t (x) VALUES (1)"), IsOk());
  ASSERT_THAT(Migrate(*database, "t", kSteps), IsOk());
  ASSERT_THAT(Migrate(*database, "t", kSteps), IsOk());
  EXPECT_THAT(database->Run("UPDATE t SET y = x"), IsOk());
  EXPECT_EQ(database->num_changed(), 1);
}

TEST_P(MigrateTest, LaterFormatsAreLeftAlone) {
  const auto database = Open();
  ASSERT_THAT(Migrate(*database, "t", kSteps), IsOk());
  EXPECT_THAT(Migrate(*database, "t", {kSteps.data(), 1}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("t made by a later version (format 2; "
                                 "expected 1)")));
}

TEST_P(MigrateTest, AStepThatFailsChangesNothing) {
  const auto database = Open();
  const std::vector<std::string> bad = {kSteps[0], "nonsense"};
  EXPECT_FALSE(Migrate(*database, "t", bad).ok());
  EXPECT_THAT(Migrate(*database, "t", kSteps), IsOk());
}

TEST_P(MigrateTest, ManyMayDoSoAtOnce) {
  if (!is_shared()) GTEST_SKIP() << "not applicable: one process has the file";
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      const auto database = Open();
      EXPECT_THAT(Migrate(*database, "t", kSteps), IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tangram
