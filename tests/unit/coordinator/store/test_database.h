#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_STORE_TEST_DATABASE_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_STORE_TEST_DATABASE_H_

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/store/postgres_database.h"
#include "coordinator/store/sqlite_database.h"
#include "gtest/gtest.h"
#include "tests/testing/postgres_server.h"
#include "tests/testing/status_matchers.h"

namespace tangram::testing {

// Returns the server of this test binary, started on first use.
inline PostgresServer& TestServer() {
  static PostgresServer server;
  return server;
}

inline std::string TestName() {
  std::string name =
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
  for (char& c : name) c = c == '/' ? '_' : c;
  return name;
}

// Removes what formats 8 to 10 added to the tables of jobs.
inline constexpr char kWithoutSettings[] = R"(
  DROP INDEX jobs_by_time;
  DROP INDEX jobs_of_key_by_time;
  DROP INDEX jobs_used;
  DROP INDEX jobs_with_deadline;
  DROP INDEX jobs_kept;
  DROP INDEX jobs_to_tell;
  DROP INDEX jobs_to_tell_of_key;
  DROP INDEX jobs_waiting;
  DROP TABLE job_clock;
  ALTER TABLE jobs DROP COLUMN labels;
  ALTER TABLE jobs DROP COLUMN deadline_s;
  ALTER TABLE jobs DROP COLUMN keep_s;
  ALTER TABLE jobs DROP COLUMN webhook;
  ALTER TABLE jobs DROP COLUMN ran_s;
  ALTER TABLE jobs DROP COLUMN not_before_s;
  ALTER TABLE jobs DROP COLUMN bytes;
  ALTER TABLE jobs DROP COLUMN attempt_events;
  ALTER TABLE jobs DROP COLUMN furthest_events;
  ALTER TABLE jobs DROP COLUMN event_due_s;
  ALTER TABLE jobs DROP COLUMN event_tries;
  ALTER TABLE jobs RENAME COLUMN state_seal TO row_seal;
)";

// A connection of the test, which stays open: opening one takes long.
class BorrowedDatabase : public SqlDatabase {
 public:
  explicit BorrowedDatabase(SqlDatabase& database) : database_(database) {}
  const SqlDialect& dialect() const override { return database_.dialect(); }
  absl::Status Run(const std::string& sql, absl::Span<const SqlValue> values,
                   absl::FunctionRef<void(const SqlRow&)> on_row) override {
    return database_.Run(sql, values, on_row);
  }
  absl::Status RunScript(const std::string& sql) override {
    return database_.RunScript(sql);
  }
  absl::Status Transact(absl::FunctionRef<absl::Status()> body) override {
    return database_.Transact(body);
  }
  int64_t num_changed() const override { return database_.num_changed(); }
  absl::Status RelaxDurability() override { return absl::OkStatus(); }

 private:
  SqlDatabase& database_;
};

// Tests that hold for every database. Each test gets an empty one.
class DatabaseTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!is_shared()) {
      file_ = absl::StrCat(::testing::TempDir(), "/", TestName(), ".db");
      Remove();
      return;
    }
    if (PostgresServer::BinFolder().empty()) {
      GTEST_SKIP() << "PostgreSQL is not installed";
    }
    schema_ = absl::StrCat("test_", ++num_schemas_);
    auto database = OpenPostgresDatabase(TestServer().connection());
    ASSERT_THAT(database, IsOk());
    ASSERT_THAT((*database)->Run(absl::StrCat("CREATE SCHEMA ", schema_)),
                IsOk());
  }
  void TearDown() override {
    if (!is_shared()) Remove();
  }

  bool is_shared() const { return GetParam() == "postgresql"; }
  std::string connection() const {
    return absl::StrCat(TestServer().connection(),
                        " options='-c search_path=", schema_, "'");
  }
  std::string file() const { return file_; }

  std::unique_ptr<SqlDatabase> Open() const {
    auto database = is_shared() ? OpenPostgresDatabase(connection())
                                : OpenSqliteDatabase(file_);
    EXPECT_THAT(database, IsOk());
    return *std::move(database);
  }

 private:
  void Remove() {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(file_ + suffix);
    }
  }

  static inline int num_schemas_ = 0;
  std::string file_;
  std::string schema_;
};

inline std::string DatabaseName(
    const ::testing::TestParamInfo<std::string>& test) {
  return test.param;
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_STORE_TEST_DATABASE_H_
