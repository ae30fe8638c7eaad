#include "coordinator/store/sqlite_database.h"

#include <signal.h>
#include <sys/resource.h>

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

// A disk without room. Files of this process stay empty while it exists.
class NoRoom {
 public:
  NoRoom() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none = {.rlim_cur = 0, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoRoom() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_ = {};
};

TEST(SqliteDatabaseTest, ADiskWithoutRoomLeavesNoFileThatLooksDamaged) {
  const std::string path = TestFile("no_room.db");
  {
    const NoRoom full;
    EXPECT_FALSE(OpenSqliteDatabase(path).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  EXPECT_THAT(OpenSqliteDatabase(path), testing::IsOk());
}

// The process may have ended at any time before.
TEST(SqliteDatabaseTest, ADraftOfAFileIsUsed) {
  const std::string path = TestFile("drafted.db");
  for (const char* content : {"", "S"}) {
    FILE* file = fopen((path + ".new").c_str(), "w");
    fputs(content, file);
    fclose(file);
    EXPECT_THAT(OpenSqliteDatabase(path), testing::IsOk()) << content;
    EXPECT_FALSE(std::filesystem::exists(path + ".new"));
    std::filesystem::remove(path);
  }
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
