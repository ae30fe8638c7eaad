#include "coordinator/store/sqlite_database.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

std::string TestFile(const char* name) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::filesystem::remove(path);
  return path;
}

TEST(SqliteDatabaseTest, TwoConnectionsCannotHaveTheSameFile) {
  const std::string path = TestFile("twice.db");
  ASSERT_OK_AND_ASSIGN(const auto first, OpenSqliteDatabase(path));
  EXPECT_THAT(OpenSqliteDatabase(path).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("locked")));
}

// A job that was accepted must outlive the loss of power.
TEST(SqliteDatabaseTest, EachCommitIsOnTheDiskBeforeItIsReported) {
  ASSERT_OK_AND_ASSIGN(const auto database,
                       OpenSqliteDatabase(TestFile("synchronous.db")));
  const auto synchronous = [&] {
    int64_t value = -1;
    EXPECT_TRUE(database
                    ->Run("PRAGMA synchronous", {},
                          [&](const SqlRow& row) { value = row.Int(0); })
                    .ok());
    return value;
  };
  EXPECT_EQ(synchronous(), 2);  // FULL.
  EXPECT_TRUE(database->RelaxDurability().ok());
  EXPECT_EQ(synchronous(), 1);  // NORMAL.
}

TEST(SqliteDatabaseTest, AFileThatIsNoDatabaseIsLeftAlone) {
  const std::string path = TestFile("text");
  FILE* file = fopen(path.c_str(), "w");
  const std::string text(5000, 'x');
  fputs(text.c_str(), file);
  fclose(file);

  EXPECT_FALSE(OpenSqliteDatabase(path).ok());
  EXPECT_EQ(std::filesystem::file_size(path), 5000u);
}

// SQLite would take such a file for a new database.
TEST(SqliteDatabaseTest, AFileThatWasCutOffIsDamaged) {
  const std::string path = TestFile("cut.db");
  for (const char* content : {"", "S"}) {
    FILE* file = fopen(path.c_str(), "w");
    fputs(content, file);
    fclose(file);
    EXPECT_THAT(OpenSqliteDatabase(path).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bytes")));
    EXPECT_EQ(std::filesystem::file_size(path), strlen(content));
  }
  std::filesystem::remove(path);
  EXPECT_TRUE(OpenSqliteDatabase(path).ok());
  EXPECT_TRUE(OpenSqliteDatabase(path).ok());
}

}  // namespace
}  // namespace tangram
